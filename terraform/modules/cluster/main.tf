locals {
  # The versions of Kubernetes that each Talos takes, as minor versions of 1: tests compare
  # them with Talos' own library.
  kubernetes = {
    "12" = { min_minor = 30, max_minor = 35 }
    "13" = { min_minor = 31, max_minor = 36 }
  }

  control_plane = { for name, node in var.nodes : name => node if node.role == "controlplane" }
  workers       = { for name, node in var.nodes : name => node if node.role == "worker" }
  # The first by name: which one is asked does not matter, that it stays the same does.
  first = local.control_plane[sort(keys(local.control_plane))[0]]

  # What all machines have.
  common = {
    cluster = {
      allowSchedulingOnControlPlanes = var.schedule_on_control_plane
      network = {
        podSubnets     = var.pod_subnets
        serviceSubnets = var.service_subnets
      }
    }
  }

  # A document by itself for each registry.
  mirrors = [for registry, endpoints in var.registry_mirrors : {
    apiVersion = "v1alpha1"
    kind       = "RegistryMirrorConfig"
    name       = registry
    endpoints  = [for url in endpoints : { url = url }]
  }]

  own = { for name, node in var.nodes : name => {
    machine = {
      install    = { disk = node.install_disk, image = node.installer_image }
      nodeLabels = node.labels
    }
  } }

  # Talos names a machine by itself where no document does, and takes one name only.
  hostname = { for name, node in var.nodes : name => {
    apiVersion = "v1alpha1"
    kind       = "HostnameConfig"
    auto       = "off"
    hostname   = name
  } }

  # The kernel's arguments are not here: Talos takes them from its image (module `images`).
  measurement = { for name, node in var.nodes : name => {
    machine = {
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
          # threshold of eviction (100 MiB) and the system's share. The others
          # are Talos' own, whose list this one replaces.
          systemReserved = {
            memory              = "${node.measurement.reserved_memory_mib - 100}Mi"
            pid                 = "100"
            "ephemeral-storage" = "256Mi"
          }
          reservedMemory = [{
            numaNode = 0
            limits   = { memory = "${node.measurement.reserved_memory_mib}Mi" }
          }]
        }
      }
    }
  } if node.measurement != null }

  patches = { for name, node in var.nodes : name => concat(
    [yamlencode(local.common)],
    [for mirror in local.mirrors : yamlencode(mirror)],
    [yamlencode(local.own[name]), yamlencode(local.hostname[name])],
    node.measurement == null ? [] : [yamlencode(local.measurement[name])],
  ) }

  # Who leaves in order is drained, and leaves etcd, which its only member cannot.
  graceful = { for name, node in var.nodes : name =>
    var.graceful_removal && (node.role == "worker" || length(local.control_plane) > 1)
  }
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

  config_patches = concat(local.patches[each.key], var.config_patches, each.value.config_patches)
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

  # A machine whose disk outlives it forgets its secrets.
  on_destroy = {
    graceful = local.graceful[each.key]
    reboot   = false
    reset    = local.graceful[each.key] || each.value.reset_on_removal
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

# Waits until etcd, the API server and every node are up. It is read at apply, after the
# machines have their configurations, where a plan changes one; in any other plan at once.
data "talos_cluster_health" "this" {
  for_each = var.wait_for_health ? { this = true } : {}

  client_configuration = talos_machine_secrets.this.client_configuration
  endpoints            = [for node in local.control_plane : node.address]
  control_plane_nodes  = [for node in local.control_plane : node.address]
  worker_nodes         = [for node in local.workers : node.address]

  timeouts = { read = "15m" }

  depends_on = [talos_machine_bootstrap.this, talos_machine_configuration_apply.node]
}
