"""`python -m terrace VERB ...`: what the launcher calls for the verbs that analyse."""

from terrace.cli import main

if __name__ == "__main__":
    main()
