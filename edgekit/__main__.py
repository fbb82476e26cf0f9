"""`python -m edgekit` is `edgekit`."""

from edgekit.cli.main import main

if __name__ == "__main__":
    main()
