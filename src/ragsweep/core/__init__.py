"""What every room stands on: components and their settings, digests, the store, errors, and how charts look."""
