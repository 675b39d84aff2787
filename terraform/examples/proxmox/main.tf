# A cluster of two virtual machines by the modules alone. In a configuration of yours,
# write git::https://git.example.com/vnfbench.git//terraform/modules/NAME?ref=COMMIT
# where this one has ../../modules/NAME, or an address in a registry.
terraform {
  required_version = ">= 1.9"

  required_providers {
    proxmox = {
      source  = "bpg/proxmox"
      version = "~> 0.111.1"
    }
  }
}

provider "proxmox" {
  endpoint = "https://pve1.example:8006/"
}

locals {
  cluster_name  = "lab"
  talos_version = "v1.13.0"

  nodes = {
    cp-1 = { host = "pve1", role = "controlplane", address = "192.0.2.11/24", cpus = 2, memory_mib = 4096 }
    dut-1 = {
      host        = "pve1", role = "worker", address = "192.0.2.21/24", cpus = 8, memory_mib = 16384
      measurement = { reserved_cpus = "0-1", isolated_cpus = "2-7" }
    }
  }
}

module "images" {
  source = "../../modules/images"

  nodes         = local.nodes
  talos_version = local.talos_version
  platform      = "nocloud"
}

module "nodes" {
  source = "../../modules/proxmox-nodes"

  cluster_name  = local.cluster_name
  nodes         = local.nodes
  images        = module.images.images
  talos_version = local.talos_version
  gateway       = "192.0.2.1"
}

module "cluster" {
  source = "../../modules/cluster"

  cluster_name       = local.cluster_name
  endpoint           = "192.0.2.11"
  nodes              = module.nodes.nodes
  talos_version      = local.talos_version
  kubernetes_version = "1.34.10"
}

output "kubeconfig" {
  description = "The administrator's kubeconfig."
  value       = module.cluster.kubeconfig
  sensitive   = true
}
