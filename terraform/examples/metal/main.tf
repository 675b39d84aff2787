# A cluster of one bare machine, which measures as well, by the modules alone. In a
# configuration of yours, write git::https://git.example.com/vnfbench.git//terraform/modules/NAME?ref=COMMIT
# where this one has ../../modules/NAME, or an address in a registry.
terraform {
  required_version = ">= 1.9"

  required_providers {
    matchbox = {
      source  = "poseidon/matchbox"
      version = "~> 0.5.4"
    }
  }
}

variable "matchbox_credentials" {
  description = "PEM texts of the client's certificate and key, and of Matchbox' authority. Example: { client_cert = \"-----BEGIN…\", client_key = \"-----BEGIN…\", ca = \"-----BEGIN…\" }."
  type        = object({ client_cert = string, client_key = string, ca = string })
  sensitive   = true
}

provider "matchbox" {
  endpoint    = "matchbox.example:8081"
  client_cert = var.matchbox_credentials.client_cert
  client_key  = var.matchbox_credentials.client_key
  ca          = var.matchbox_credentials.ca
}

locals {
  cluster_name  = "lab"
  talos_version = "v1.13.0"

  nodes = {
    lab-1 = {
      mac         = "0c:c4:7a:00:00:11", role = "controlplane", address = "192.0.2.11/24", install_disk = "/dev/sda"
      kernel_args = ["console=ttyS1,115200"]
      measurement = { reserved_cpus = "0-1", isolated_cpus = "2-15", hugepages_1gi = 16 }
    }
  }
}

module "images" {
  source = "../../modules/images"

  nodes         = local.nodes
  talos_version = local.talos_version
  platform      = "metal"
  extensions    = ["siderolabs/intel-ucode"]
}

module "nodes" {
  source = "../../modules/baremetal-nodes"

  cluster_name = local.cluster_name
  nodes        = local.nodes
  images       = module.images.images
}

module "cluster" {
  source = "../../modules/cluster"

  cluster_name              = local.cluster_name
  endpoint                  = "192.0.2.11"
  nodes                     = module.nodes.nodes
  talos_version             = local.talos_version
  kubernetes_version        = "1.34.10"
  schedule_on_control_plane = true
}

output "kubeconfig" {
  description = "The administrator's kubeconfig."
  value       = module.cluster.kubeconfig
  sensitive   = true
}
