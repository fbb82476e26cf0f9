"""Here so that the tests of every folder below find `run_scene` and `made_rows`."""
