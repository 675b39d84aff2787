# Virtual machines on Proxmox, a Talos cluster on them, and its Testbed.

provider "proxmox" {
  endpoint = var.proxmox_endpoint
  insecure = var.proxmox_insecure
}

module "nodes" {
  source = "../../modules/proxmox-nodes"

  cluster_name      = var.cluster_name
  nodes             = var.nodes
  gateway           = var.gateway
  dns_servers       = var.dns_servers
  datastore         = var.datastore
  management_bridge = var.management_bridge
  pci_mappings      = var.pci_mappings
  talos_version     = var.talos_version
  talos_schematic   = var.talos_schematic
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
