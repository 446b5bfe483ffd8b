"""docs/howto/tables.md: raw, standardised and anisotropic noise on two tables.

python benchmarks/pages/tables.py
"""

from collections.abc import Callable, Iterator

import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from rsbounds import certify_dataset
from rsbounds.results import Results
from rsbounds.schemes import anisotropic, gaussian

SIGMA, N, INPUTS = 0.25, 1000, 100
TABLES = {"breast cancer": load_breast_cancer, "wine": load_wine}
MODELS: dict[str, Callable[[], object]] = {
    "forest": lambda: RandomForestClassifier(50, random_state=0),
    "SVC": SVC,
    "boosting": lambda: GradientBoostingClassifier(n_estimators=30, random_state=0),
}
HEAD = "| data | model | without noise | raw | standardised | a level a column |"


def runs(table: str, model: str) -> tuple[float, Iterator[Results]]:
    """Accuracy without noise, and the three runs, of one model on one table."""
    x, y = TABLES[table](return_X_y=True)
    train, test, labels, truth = train_test_split(
        x, y, test_size=0.5, random_state=0, stratify=y
    )
    test, truth = test[:INPUTS].astype(np.float32), truth[:INPUTS]
    scaler = StandardScaler().fit(train)
    pipeline = make_pipeline(StandardScaler(), MODELS[model]()).fit(train, labels)
    bare = MODELS[model]().fit(scaler.transform(train), labels)
    z = scaler.transform(test).astype(np.float32)
    levels = anisotropic(SIGMA * scaler.scale_)

    def made() -> Iterator[Results]:
        yield certify_dataset(pipeline, (test, truth), gaussian(SIGMA), n=N)
        yield certify_dataset(bare, (z, truth), gaussian(SIGMA), n=N)
        yield certify_dataset(pipeline, (test, truth), levels, n=N)

    return float(pipeline.score(test, truth)), made()


def main() -> None:
    """Print the table."""
    print(HEAD)
    print("|---|---|---:|---:|---:|---:|")
    for table in TABLES:
        for model in MODELS:
            clean, made = runs(table, model)
            shares = " | ".join(f"{run.clean_accuracy():.3f}" for run in made)
            print(f"| {table} | {model} | {clean:.3f} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
