terraform {
  required_version = ">= 1.9"

  required_providers {
    helm = {
      source  = "hashicorp/helm"
      version = ">= 3.1.2"
    }
    kubernetes = {
      source  = "hashicorp/kubernetes"
      version = ">= 3.2.1"
    }
  }
}

# What goes together. terraform/versions.md says why; a test compares the two.
locals {
  versions = {
    kubevirt              = "v1.7.0"
    multus                = "v4.2.4"
    sriov                 = "1.6.0"
    kube_prometheus_stack = "67.8.0"
  }
}
