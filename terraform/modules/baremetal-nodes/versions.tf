terraform {
  required_version = ">= 1.9"

  required_providers {
    matchbox = {
      source  = "poseidon/matchbox"
      version = ">= 0.5.4"
    }
  }
}
