# Virtual machines on Proxmox, a Talos cluster on them, and its Testbed.

provider "proxmox" {
  endpoint = var.proxmox_endpoint
  insecure = var.proxmox_insecure
}

# The cluster's own credentials, which are known once it is up: what is below is
# planned without it and applied after it.
provider "helm" {
  kubernetes = {
    host                   = module.cluster.kubernetes.host
    cluster_ca_certificate = base64decode(module.cluster.kubernetes.ca_certificate)
    client_certificate     = base64decode(module.cluster.kubernetes.client_certificate)
    client_key             = base64decode(module.cluster.kubernetes.client_key)
  }
}

provider "kubernetes" {
  host                   = module.cluster.kubernetes.host
  cluster_ca_certificate = base64decode(module.cluster.kubernetes.ca_certificate)
  client_certificate     = base64decode(module.cluster.kubernetes.client_certificate)
  client_key             = base64decode(module.cluster.kubernetes.client_key)
}

provider "talos" {
  image_factory_url = var.image_factory_url
}

module "images" {
  source = "../../modules/images"

  nodes         = var.nodes
  talos_version = var.talos_version
  platform      = "nocloud"
  extensions    = var.extensions
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
  management_vlan   = var.management_vlan
  talos_version     = var.talos_version
  images            = module.images.images
  image_datastore   = var.image_datastore
  image_host        = var.image_host
  image_checksums   = var.image_checksums
  restart_on_change = var.restart_on_change
}

module "cluster" {
  source = "../../modules/cluster"

  cluster_name              = var.cluster_name
  endpoint                  = var.endpoint
  nodes                     = module.nodes.nodes
  talos_version             = var.talos_version
  kubernetes_version        = var.kubernetes_version
  schedule_on_control_plane = var.schedule_on_control_plane
  pod_subnets               = var.pod_subnets
  service_subnets           = var.service_subnets
  registry_mirrors          = var.registry_mirrors
  config_patches            = var.config_patches
  graceful_removal          = var.graceful_removal
  wait_for_health           = var.wait_for_health
}

module "testbed" {
  source   = "../../modules/testbed"
  for_each = var.testbeds

  name                 = each.key
  nodes                = module.nodes.nodes
  is_default           = each.value.is_default
  namespaces           = each.value.namespaces
  history_limit        = each.value.history_limit
  link_bits_per_second = each.value.link_bits_per_second
  mtu_bytes            = each.value.mtu_bytes
  vlan                 = each.value.vlan
  sriov                = each.value.sriov
  host_devices         = each.value.host_devices
  networks             = each.value.networks
  calibration_networks = each.value.calibration_networks
  trex                 = each.value.trex
  generator            = each.value.generator
  device               = each.value.device
}

module "addons" {
  source   = "../../modules/addons"
  for_each = var.addons == null ? {} : { this = var.addons }

  vnfbench    = each.value.vnfbench
  kubevirt    = each.value.kubevirt
  multus      = each.value.multus
  cni_plugins = each.value.cni_plugins
  sriov       = each.value.sriov
  monitoring  = each.value.monitoring

  # Providers alone would let a release continue while nodes are still joining.
  depends_on = [module.cluster]
}
