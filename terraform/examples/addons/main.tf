# What measuring needs, in a cluster that is there. In a configuration of yours, write
# git::https://git.example.com/vnfbench.git//terraform/modules/addons?ref=COMMIT where this
# one has ../../modules/addons, or an address in a registry.
terraform {
  required_version = ">= 1.9"

  required_providers {
    helm = {
      source  = "hashicorp/helm"
      version = "~> 3.1.2"
    }
    kubernetes = {
      source  = "hashicorp/kubernetes"
      version = "~> 3.2.1"
    }
  }
}

provider "helm" {
  kubernetes = { config_path = "~/.kube/config" }
}

provider "kubernetes" {
  config_path = "~/.kube/config"
}

module "addons" {
  source = "../../modules/addons"

  # From a release's chart, or from an oci:// address.
  vnfbench = { chart = "../../../charts/vnfbench", registry = "registry.example.com/lab", tag = "TAG" }
}
