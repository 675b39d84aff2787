locals {
  split = length([for n in var.nodes : n if contains(keys(n.labels), "vnfbench.io/role")]) > 0

  # What joins generator and device. Bridges join pods of one node.
  attachment = var.sriov != null ? "SRIOV" : var.host_devices != null ? "HostDevice" : var.networks != null ? "NetworkAttachmentDefinition" : "Bridge"
  hardware   = contains(["SRIOV", "HostDevice"], local.attachment)

  network_refs = { for side, port in coalesce(var.networks, {}) : side => { for end in ["generator", "device"] : end => port[end] == null ? null : {
    for field, value in { name = port[end], namespace = port.namespace } : field => value if value != null
  } } }

  calibration_networks = var.calibration_networks == null ? null : [for side in ["west", "east"] : {
    for field, value in { name = var.calibration_networks[side], namespace = var.calibration_networks.namespace } : field => value if value != null
  }]

  namespaces = var.namespaces == null ? {} : {
    namespaces = { from = "Selector", selector = { matchLabels = var.namespaces.match_labels } }
  }

  # Every field by its name; what is null was not chosen and is left out, so that
  # the manifest says what was chosen and nothing else.
  port_fields = { for side in ["west", "east"] : side => {
    attachment = local.attachment == "Bridge" ? null : local.attachment
    vlan       = var.vlan[side]
    sriov = var.sriov == null ? null : { for field, value in {
      resourceName = var.sriov["generator_${side}"]
      vlan         = var.sriov["vlan_${side}"]
    } : field => value if value != null }
    hostDevice = var.host_devices == null ? null : { pciAddress = var.host_devices["generator_${side}"] }
    networkAttachmentDefinition = var.networks == null ? null : { for field, value in {
      generatorRef = local.network_refs[side].generator
      deviceRef    = local.network_refs[side].device
      deviceVLAN   = var.networks[side].device_vlan
    } : field => value if value != null }
  } }
  ports = { for side, fields in local.port_fields : side => { for field, value in fields : field => value if value != null } }

  device_sriov = var.sriov == null ? null : { for field, value in {
    westResourceName  = var.sriov.device_west
    eastResourceName  = var.sriov.device_east
    innerResourceName = var.sriov.device_inner
    firstInnerVLAN    = var.sriov.first_inner_vlan
  } : field => value if value != null }

  device_nics = var.host_devices == null ? null : { for side in ["west", "east"] : side => { for field, value in {
    pciAddress   = var.host_devices["device_${side}"].pci_address
    resourceName = var.host_devices["device_${side}"].resource_name
    macAddress   = var.host_devices["device_${side}"].mac_address
  } : field => value if value != null } }

  tolerations = { for pods, list in { generator = var.generator.tolerations, device = var.device.tolerations } :
  pods => [for one in list : { for field, value in one : field => value if value != null }] }

  xdp = { for field, value in {
    threads               = var.generator.xdp.threads
    transmitPath          = var.generator.xdp.transmit_path
    scheduling            = var.generator.xdp.scheduling
    ringFrames            = var.generator.xdp.ring_frames
    interruptMicroseconds = var.generator.xdp.interrupt_microseconds
  } : field => value if value != null }

  mac_addresses = [for name, ports in var.device.mac_addresses : merge(
    { function = name }, { for port, address in ports : port => address if address != null }
  )]

  # A bridge joins pods of one node, so both selectors then name the device's.
  generator_role = local.attachment == "Bridge" ? "device" : "generator"

  device = { for field, value in {
    nodeSelector = local.split ? { "vnfbench.io/role" = "device" } : null
    tolerations  = length(local.tolerations.device) > 0 ? local.tolerations.device : null
    attachments  = coalesce(var.device.attachments, [local.hardware ? local.attachment : "Veth"])
    sriov        = local.device_sriov
    hostDevices  = local.device_nics
    observer     = var.device.observer

    functionImage = var.device.function_image
    guestImage    = var.device.guest_image
    realtime      = var.device.realtime
    macAddresses  = length(local.mac_addresses) > 0 ? local.mac_addresses : null
  } : field => value if value != null }

  # TRex drives virtual functions by DPDK, and bridges through packet sockets.
  dpdk = var.trex != null && var.sriov != null
  trex = { for field, value in {
    mode         = local.dpdk ? "DPDK" : "AFPacket"
    coresPerPort = local.dpdk ? var.trex.cores_per_port : null
    hugepages    = local.dpdk ? { memory = var.trex.hugepages_memory, pageSize = var.trex.hugepages_size } : null
  } : field => value if value != null }

  # TRex's threads by DPDK never rest: each has a CPU, master and receiver too.
  trex_cpu = local.dpdk ? tostring(2 + 2 * var.trex.cores_per_port) : null

  generator = { for field, value in {
    nodeSelector = local.split ? { "vnfbench.io/role" = local.generator_role } : null
    tolerations  = length(local.tolerations.generator) > 0 ? local.tolerations.generator : null
    driver       = var.trex == null ? null : "TRex"
    image        = var.trex == null ? var.generator.image : var.trex.image
    cpu          = var.generator.cpu != null ? var.generator.cpu : local.trex_cpu
    memory       = var.generator.memory
    xdp          = length(local.xdp) > 0 ? local.xdp : null
    trex         = var.trex == null ? null : local.trex
  } : field => value if value != null }

  testbed = {
    apiVersion = "vnfbench.io/v1alpha1"
    kind       = "Testbed"
    metadata = merge({ name = var.name }, var.is_default ? {
      annotations = { "vnfbench.io/is-default-testbed" = "true" }
    } : {})
    spec = merge(local.namespaces, var.history_limit == null ? {} : { historyLimit = var.history_limit }, {
      generator = local.generator
      ports = merge(
        { linkBitsPerSecond = var.link_bits_per_second, mtuBytes = var.mtu_bytes },
        { for side, port in local.ports : side => port if length(port) > 0 },
        local.calibration_networks == null ? {} : { calibrationNetworks = local.calibration_networks },
      )
      systemUnderTest = local.device
    })
  }
}
