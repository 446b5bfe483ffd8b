"""Is this result file true?"""
