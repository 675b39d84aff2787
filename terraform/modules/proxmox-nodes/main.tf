locals {
  # Where each machine's image is kept: on its host, or once for all of them on
  # storage that they share.
  images = { for name, node in var.nodes : name => "${coalesce(var.image_host, node.host)}/${var.images[name].class}" }
}

# The same image as the packed one that the factory names, as the format that
# Proxmox imports by its API alone. It is of one cluster: another one that takes the
# same image on the same storage keeps its own, and neither takes the other's away.
resource "proxmox_download_file" "talos" {
  for_each = { for name, key in local.images : key => var.images[name]... }

  node_name          = split("/", each.key)[0]
  datastore_id       = var.image_datastore
  content_type       = "import"
  url                = replace(each.value[0].disk_image, ".raw.xz", ".qcow2")
  file_name          = "${var.cluster_name}-talos-${var.talos_version}-${each.value[0].class}.qcow2"
  checksum           = lookup(var.image_checksums, each.value[0].class, null)
  checksum_algorithm = contains(keys(var.image_checksums), each.value[0].class) ? "sha256" : null
  overwrite          = false
}

resource "proxmox_hardware_mapping_pci" "this" {
  for_each = var.pci_mappings

  name = each.key
  map = [for host, device in each.value : {
    node         = host
    path         = device.path
    id           = device.id
    iommu_group  = device.iommu_group
    subsystem_id = device.subsystem_id
  }]
}

resource "proxmox_virtual_environment_vm" "node" {
  for_each = var.nodes

  name      = "${var.cluster_name}-${each.key}"
  node_name = each.value.host
  tags      = sort(["talos", each.value.role, var.cluster_name])

  machine       = length(each.value.pci_mappings) > 0 ? "q35,viommu=intel" : "q35"
  bios          = "ovmf"
  scsi_hardware = "virtio-scsi-single"
  # Talos stops within seconds of ACPI's request, but not before it has its configuration.
  stop_on_destroy = true
  on_boot         = true
  # The provider stops a machine hard to change it, and all that change at once.
  reboot_after_update = var.restart_on_change

  startup {
    order = each.value.start_order
  }

  operating_system {
    type = "l26"
  }

  # The image has no agent: waiting for one would take a quarter of an hour.
  agent {
    enabled = false
  }

  cpu {
    type     = "host"
    sockets  = 1
    cores    = each.value.cpus
    numa     = each.value.hugepages_mib != null || each.value.numa_node != null
    affinity = each.value.cpu_affinity
  }

  memory {
    dedicated = each.value.memory_mib
    # No balloon: memory that comes and goes disturbs.
    floating       = 0
    hugepages      = each.value.hugepages_mib == null ? null : tostring(each.value.hugepages_mib)
    keep_hugepages = each.value.hugepages_mib == null ? null : true
  }

  dynamic "numa" {
    for_each = each.value.numa_node == null ? [] : [each.value.numa_node]
    content {
      device    = "numa0"
      cpus      = "0-${each.value.cpus - 1}"
      memory    = each.value.memory_mib
      hostnodes = tostring(numa.value)
      policy    = "bind"
    }
  }

  efi_disk {
    datastore_id = coalesce(each.value.datastore, var.datastore)
    type         = "4m"
  }

  disk {
    interface    = "scsi0"
    datastore_id = coalesce(each.value.datastore, var.datastore)
    import_from  = proxmox_download_file.talos[local.images[each.key]].id
    size         = each.value.disk_gib
    iothread     = true
    discard      = "on"
    ssd          = true
  }

  network_device {
    bridge  = var.management_bridge
    model   = "virtio"
    vlan_id = var.management_vlan
  }

  dynamic "network_device" {
    for_each = each.value.traffic_bridges
    content {
      bridge = network_device.value
      model  = "virtio"
      queues = min(each.value.cpus, 64)
      # 1 takes the bridge's own MTU.
      mtu = 1
    }
  }

  dynamic "hostpci" {
    for_each = each.value.pci_mappings
    content {
      device  = "hostpci${hostpci.key}"
      mapping = hostpci.value
      pcie    = true
      rombar  = true
    }
  }

  initialization {
    type         = "nocloud"
    datastore_id = coalesce(each.value.datastore, var.datastore)
    interface    = "ide2"

    ip_config {
      ipv4 {
        address = each.value.address
        gateway = var.gateway
      }
    }

    dynamic "dns" {
      for_each = length(var.dns_servers) > 0 ? [var.dns_servers] : []
      content {
        servers = dns.value
      }
    }
  }

  serial_device {
    device = "socket"
  }

  lifecycle {
    # A new image is for new machines; the others are upgraded by Talos.
    ignore_changes = [disk[0].import_from]

    precondition {
      condition     = alltrue([for m in each.value.pci_mappings : contains(keys(lookup(var.pci_mappings, m, {})), each.value.host) if contains(keys(var.pci_mappings), m)])
      error_message = "Node ${each.key} passes a mapping through that has no device on host ${each.value.host}: add the host to pci_mappings, or move the node."
    }
  }

  depends_on = [proxmox_hardware_mapping_pci.this]
}
