locals {
  split = length([for n in var.nodes : n if contains(keys(n.labels), "vnfbench.io/role")]) > 0

  ports = var.sriov == null ? {} : {
    west = { attachment = "SRIOV", sriov = { resourceName = var.sriov.generator_west } }
    east = { attachment = "SRIOV", sriov = { resourceName = var.sriov.generator_east } }
  }

  # Absent fields are left out, so that the manifest says what was chosen and
  # nothing else.
  device_sriov = var.sriov == null ? {} : { for field, pool in {
    westResourceName  = var.sriov.device_west
    eastResourceName  = var.sriov.device_east
    innerResourceName = var.sriov.device_inner
  } : field => pool if pool != null }

  # A bridge joins pods of one node, so both selectors then name the device's.
  generator_role = var.sriov == null ? "device" : "generator"

  # TRex drives virtual functions by DPDK, and bridges through packet sockets.
  dpdk = var.trex != null && var.sriov != null
  trex = { for field, value in {
    mode         = local.dpdk ? "DPDK" : "AFPacket"
    coresPerPort = local.dpdk ? var.trex.cores_per_port : null
    hugepages    = local.dpdk ? { memory = var.trex.hugepages_memory, pageSize = var.trex.hugepages_size } : null
  } : field => value if value != null }

  generator = { for field, value in {
    nodeSelector = local.split ? { "vnfbench.io/role" = local.generator_role } : null
    driver       = var.trex == null ? null : "TRex"
    image        = var.trex == null ? null : var.trex.image
    cpu          = local.dpdk ? tostring(2 + 2 * var.trex.cores_per_port) : null
    trex         = var.trex == null ? null : local.trex
  } : field => value if value != null }

  testbed = {
    apiVersion = "vnfbench.io/v1alpha1"
    kind       = "Testbed"
    metadata   = { name = var.name, namespace = var.namespace }
    spec = {
      generator = local.generator
      ports = merge(
        { linkBitsPerSecond = var.link_bits_per_second, mtuBytes = var.mtu_bytes },
        local.ports,
      )
      deviceUnderTest = merge(
        local.split ? { nodeSelector = { "vnfbench.io/role" = "device" } } : {},
        { attachments = var.sriov == null ? ["Veth"] : ["SRIOV"] },
        var.sriov == null ? {} : { sriov = local.device_sriov },
      )
    }
  }

  namespace = {
    apiVersion = "v1"
    kind       = "Namespace"
    metadata = {
      name = var.namespace
      # Traffic pods and functions hold capabilities that the lower levels forbid.
      labels = { "pod-security.kubernetes.io/enforce" = "privileged" }
    }
  }
}
