"""Programs that prove the kernel's approximations: `python tests/proofs` runs all."""
