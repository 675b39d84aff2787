terraform {
  required_version = ">= 1.9"

  required_providers {
    matchbox = {
      source  = "poseidon/matchbox"
      version = "~> 0.5.4"
    }
    talos = {
      source  = "siderolabs/talos"
      version = "~> 0.11.0"
    }
  }
}
