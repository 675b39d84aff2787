locals {
  control_plane = { for name, node in var.nodes : name => node if node.role == "controlplane" }
  workers       = { for name, node in var.nodes : name => node if node.role == "worker" }
  # The first by name: which one is asked does not matter, that it stays the same does.
  first = local.control_plane[sort(keys(local.control_plane))[0]]

  # What all machines have.
  common = {
    machine = {
      install = {
        image = var.installer_image
      }
    }
    cluster = {
      allowSchedulingOnControlPlanes = var.schedule_on_control_plane
      network = {
        podSubnets     = var.pod_subnets
        serviceSubnets = var.service_subnets
      }
    }
  }

  own = { for name, node in var.nodes : name => {
    machine = {
      install    = { disk = node.install_disk }
      network    = { hostname = name }
      nodeLabels = node.labels
    }
  } }

  # Both makers' arguments: a CPU reads its own and ignores the other's.
  kernel_args = { for name, node in var.nodes : name => node.measurement == null ? [] : concat(
    [
      # The scheduler, its tick and RCU's callbacks leave these CPUs alone.
      "isolcpus=managed_irq,domain,${node.measurement.isolated_cpus}",
      "nohz_full=${node.measurement.isolated_cpus}",
      "rcu_nocbs=${node.measurement.isolated_cpus}",
      "irqaffinity=${node.measurement.reserved_cpus}",
      # Devices can be passed through, and the node's own are not slowed by it.
      "intel_iommu=on",
      "amd_iommu=on",
      "iommu=pt",
      # One frequency and no deep sleep: a core that wakes up is late.
      "cpufreq.default_governor=performance",
      "intel_pstate=disable",
      "intel_idle.max_cstate=0",
      "processor.max_cstate=1",
      "nosoftlockup",
      "nmi_watchdog=0",
      "transparent_hugepage=never",
    ],
    node.measurement.nested_virtualization ? ["kvm_intel.nested=1", "kvm_amd.nested=1"] : [],
    node.measurement.hugepages_1gi > 0 ? ["hugepagesz=1G", "hugepages=${node.measurement.hugepages_1gi}"] : [],
    node.measurement.hugepages_2mi > 0 ? ["hugepagesz=2M", "hugepages=${node.measurement.hugepages_2mi}"] : [],
  ) }

  measurement = { for name, node in var.nodes : name => {
    machine = {
      install = {
        extraKernelArgs = local.kernel_args[name]
      }
      kernel = {
        modules = [{ name = "vfio_pci" }]
      }
      sysctls = {
        # Statistics of virtual memory are gathered seldom: each time costs every CPU.
        "vm.stat_interval" = "120"
      }
      kubelet = {
        extraConfig = {
          cpuManagerPolicy        = "static"
          cpuManagerPolicyOptions = { "full-pcpus-only" = "true" }
          reservedSystemCPUs      = node.measurement.reserved_cpus
          topologyManagerPolicy   = "single-numa-node"
          topologyManagerScope    = "pod"
          memoryManagerPolicy     = "Static"
          # The memory manager wants exactly what the kubelet reserves: its
          # threshold of eviction (100 MiB) and the system's share.
          systemReserved = { memory = "${node.measurement.reserved_memory_mib - 100}Mi" }
          reservedMemory = [{
            numaNode = 0
            limits   = { memory = "${node.measurement.reserved_memory_mib}Mi" }
          }]
        }
      }
    }
  } if node.measurement != null }
}

resource "talos_machine_secrets" "this" {
  talos_version = var.talos_version
}

data "talos_machine_configuration" "node" {
  for_each = var.nodes

  cluster_name       = var.cluster_name
  cluster_endpoint   = "https://${var.endpoint}:6443"
  machine_type       = each.value.role
  machine_secrets    = talos_machine_secrets.this.machine_secrets
  talos_version      = var.talos_version
  kubernetes_version = var.kubernetes_version
  docs               = false
  examples           = false

  config_patches = concat(
    [yamlencode(local.common), yamlencode(local.own[each.key])],
    each.value.measurement == null ? [] : [yamlencode(local.measurement[each.key])],
    var.config_patches,
  )
}

data "talos_client_configuration" "this" {
  cluster_name         = var.cluster_name
  client_configuration = talos_machine_secrets.this.client_configuration
  endpoints            = [for name in sort(keys(local.control_plane)) : local.control_plane[name].address]
  nodes                = [for name in sort(keys(var.nodes)) : var.nodes[name].address]
}

resource "talos_machine_configuration_apply" "node" {
  for_each = var.nodes

  client_configuration        = talos_machine_secrets.this.client_configuration
  machine_configuration_input = data.talos_machine_configuration.node[each.key].machine_configuration
  node                        = each.value.address
  endpoint                    = each.value.address
  apply_mode                  = "auto"

  # A machine that leaves the map leaves the cluster, and forgets its secrets.
  on_destroy = {
    graceful = true
    reboot   = false
    reset    = true
  }
}

resource "talos_machine_bootstrap" "this" {
  client_configuration = talos_machine_secrets.this.client_configuration
  node                 = local.first.address
  endpoint             = local.first.address

  depends_on = [talos_machine_configuration_apply.node]
}

resource "talos_cluster_kubeconfig" "this" {
  client_configuration = talos_machine_secrets.this.client_configuration
  node                 = local.first.address
  endpoint             = local.first.address

  depends_on = [talos_machine_bootstrap.this]
}

# Waits until etcd, the API server and every node are up.
data "talos_cluster_health" "this" {
  client_configuration = talos_machine_secrets.this.client_configuration
  endpoints            = [for node in local.control_plane : node.address]
  control_plane_nodes  = [for node in local.control_plane : node.address]
  worker_nodes         = [for node in local.workers : node.address]

  timeouts = { read = "15m" }

  depends_on = [talos_machine_bootstrap.this]
}
