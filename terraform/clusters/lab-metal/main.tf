# Bare machines that boot from the network, a Talos cluster on them, and its Testbed.

provider "matchbox" {
  endpoint    = var.matchbox_endpoint
  client_cert = file(pathexpand(var.matchbox_credentials.client_cert))
  client_key  = file(pathexpand(var.matchbox_credentials.client_key))
  ca          = file(pathexpand(var.matchbox_credentials.ca))
}

module "nodes" {
  source = "../../modules/baremetal-nodes"

  cluster_name    = var.cluster_name
  nodes           = var.nodes
  talos_version   = var.talos_version
  talos_schematic = var.talos_schematic
}

module "cluster" {
  source = "../../modules/cluster"

  cluster_name              = var.cluster_name
  endpoint                  = var.endpoint
  nodes                     = module.nodes.nodes
  installer_image           = module.nodes.installer_image
  talos_version             = var.talos_version
  kubernetes_version        = var.kubernetes_version
  schedule_on_control_plane = var.schedule_on_control_plane
}

module "testbed" {
  source = "../../modules/testbed"

  name                 = var.cluster_name
  nodes                = module.nodes.nodes
  link_bits_per_second = var.link_bits_per_second
  sriov                = var.sriov
}
