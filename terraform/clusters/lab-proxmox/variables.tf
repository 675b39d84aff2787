variable "cluster_name" {
  description = "Name of the cluster. Example: \"nfv-lab\"."
  type        = string
}

variable "nodes" {
  description = "The machines by name; each field is described in the module `proxmox-nodes`, and kernel_args and schematic_id in `images`. Example: { cp-1 = { host = \"pve1\", role = \"controlplane\", address = \"192.0.2.11/24\", cpus = 2, memory_mib = 4096 } }."
  type = map(object({
    host            = string
    role            = string
    address         = string
    cpus            = number
    cpu_affinity    = optional(string)
    memory_mib      = number
    hugepages_mib   = optional(number)
    numa_node       = optional(number)
    disk_gib        = optional(number, 32)
    datastore       = optional(string)
    traffic_bridges = optional(list(string), [])
    pci_mappings    = optional(list(string), [])
    start_order     = optional(number, 10)
    kernel_args     = optional(list(string), [])
    labels          = optional(map(string), {})
    measurement = optional(object({
      reserved_cpus       = string
      isolated_cpus       = string
      hugepages_2mi       = optional(number, 0)
      hugepages_1gi       = optional(number, 0)
      reserved_memory_mib = optional(number, 1024)
    }))
    schematic_id   = optional(string)
    config_patches = optional(list(string), [])
  }))
}

variable "gateway" {
  description = "Default gateway of the cluster's own network. Example: \"192.0.2.1\"."
  type        = string
}

variable "dns_servers" {
  description = "Name servers of the machines. Example: [\"192.0.2.1\"]."
  type        = list(string)
  default     = []
}

variable "datastore" {
  description = "Datastore of disks, on every Proxmox host. Example: \"local-lvm\"."
  type        = string
  default     = "local-lvm"
}

variable "management_bridge" {
  description = "Bridge with the cluster's own network. Example: \"vmbr0\"."
  type        = string
  default     = "vmbr0"
}

variable "management_vlan" {
  description = "VLAN of the cluster's own network; see the module `proxmox-nodes`. Absent: untagged. Example: 20."
  type        = number
  default     = null
}

variable "image_datastore" {
  description = "Datastore that takes Talos' images; see the module `proxmox-nodes`. Example: \"local\"."
  type        = string
  default     = "local"
}

variable "image_host" {
  description = "Host that downloads the images for all, where they share image_datastore; see the module `proxmox-nodes`. Absent: each into its own. Example: \"pve1\"."
  type        = string
  default     = null
}

variable "image_checksums" {
  description = "SHA-256 of Talos' disk images by class; see the module `proxmox-nodes`. Example: { \"3e7c4b6a9f01\" = \"8f94790fbbbe7f01ef8741f161b811aa296f96f455c1451b4debda2efa0e9038\" }."
  type        = map(string)
  default     = {}
}

variable "restart_on_change" {
  description = "Whether a machine is stopped and started at once when its CPUs, memory, disk or devices change; see the module `proxmox-nodes`."
  type        = bool
  default     = false
}

variable "pci_mappings" {
  description = "NICs that machines pass through, by name and Proxmox host; see the module `proxmox-nodes`. Example: { west = { pve1 = { path = \"0000:03:00.0\", id = \"8086:1572\", iommu_group = 33, subsystem_id = \"8086:0001\" } } }."
  type = map(map(object({
    path         = string
    id           = string
    iommu_group  = number
    subsystem_id = string
  })))
  default = {}
}

variable "proxmox_endpoint" {
  description = "URL of a Proxmox host's API. The credentials come from the environment: PROXMOX_VE_API_TOKEN, or PROXMOX_VE_USERNAME and PROXMOX_VE_PASSWORD. Example: \"https://pve1.example:8006/\"."
  type        = string

  validation {
    condition     = startswith(var.proxmox_endpoint, "https://")
    error_message = "proxmox_endpoint begins with https://: a token must not travel in the open."
  }
}

variable "proxmox_insecure" {
  description = "Whether an untrusted certificate is accepted. Only for an isolated lab."
  type        = bool
  default     = false
}

variable "endpoint" {
  description = "Where the API server is reached; see the module `cluster`. Example: \"192.0.2.11\"."
  type        = string
}

variable "talos_version" {
  description = "Version of Talos. Example: \"v1.13.0\"."
  type        = string
  default     = "v1.13.0"
}

variable "extensions" {
  description = "Talos' system extensions in every image; see the module `images`. Example: [\"siderolabs/intel-ucode\"]."
  type        = list(string)
  default     = []
}

variable "image_factory_url" {
  description = "The image factory that makes and keeps Talos' images. Example: \"https://factory.example.com\"."
  type        = string
  default     = "https://factory.talos.dev"

  validation {
    condition     = can(regex("^https?://[^/[:space:]]+$", var.image_factory_url))
    error_message = "image_factory_url is a URL without a path, such as https://factory.talos.dev."
  }
}

variable "kubernetes_version" {
  description = "Version of Kubernetes that the Talos version supports; see the module `cluster`. Example: \"1.34.10\"."
  type        = string
  default     = "1.34.10"
}

variable "config_patches" {
  description = "Further patches of every machine's configuration; see the module `cluster`. Example: [\"machine: { sysctls: { kernel.panic: '5' } }\"]."
  type        = list(string)
  default     = []
}

variable "registry_mirrors" {
  description = "Mirrors of registries of images; see the module `cluster`. Example: { \"registry.k8s.io\" = [\"https://mirror.example.com\"] }."
  type        = map(list(string))
  default     = {}
}

variable "pod_subnets" {
  description = "Networks of pods; see the module `cluster`. Example: [\"10.244.0.0/16\"]."
  type        = list(string)
  default     = ["10.244.0.0/16"]
}

variable "service_subnets" {
  description = "Networks of services; see the module `cluster`. Example: [\"10.96.0.0/12\"]."
  type        = list(string)
  default     = ["10.96.0.0/12"]
}

variable "graceful_removal" {
  description = "Whether a machine that is removed is drained first, which is for workers; see the module `cluster`. Take it back before `terraform destroy`."
  type        = bool
  default     = false
}

variable "wait_for_health" {
  description = "Whether a plan or an apply waits until the cluster is healthy; see the module `cluster`. `-var wait_for_health=false` changes or destroys one that is not, and removes a machine."
  type        = bool
  default     = true
}

variable "schedule_on_control_plane" {
  description = "Whether ordinary pods may run on control plane nodes: for a lab of one machine."
  type        = bool
  default     = false
}

variable "testbeds" {
  description = <<-EOT
    The Testbeds by name; each field is described in the module `testbed`. Without sriov, host_devices and networks
    a Testbed's ports are bridges on one node. The same machines may be in several: runs take turns.
    Example: { lab = {}, lab-sriov = { mtu_bytes = 9000, device = { attachments = ["SRIOV"] }, sriov = {
    generator_west = "openshift.io/gen_west", generator_east = "openshift.io/gen_east",
    device_west = "openshift.io/dut_west", device_east = "openshift.io/dut_east" } } }.
  EOT
  type = map(object({
    is_default           = optional(bool, false)
    namespaces           = optional(object({ match_labels = map(string) }))
    history_limit        = optional(number)
    link_bits_per_second = optional(number, 10000000000)
    mtu_bytes            = optional(number, 1500)
    vlan                 = optional(object({ west = optional(number), east = optional(number) }), {})
    sriov = optional(object({
      generator_west   = string
      generator_east   = string
      device_west      = string
      device_east      = string
      device_inner     = optional(string)
      vlan_west        = optional(number)
      vlan_east        = optional(number)
      first_inner_vlan = optional(number)
    }))
    host_devices = optional(object({
      generator_west = string
      generator_east = string
      device_west    = object({ pci_address = optional(string), resource_name = optional(string), mac_address = optional(string) })
      device_east    = object({ pci_address = optional(string), resource_name = optional(string), mac_address = optional(string) })
    }))
    networks = optional(object({
      west = object({ generator = string, device = optional(string), namespace = optional(string), device_vlan = optional(number) })
      east = object({ generator = string, device = optional(string), namespace = optional(string), device_vlan = optional(number) })
    }))
    calibration_networks = optional(object({ west = string, east = string, namespace = optional(string) }))
    trex = optional(object({
      image            = string
      cores_per_port   = optional(number, 1)
      hugepages_memory = optional(string, "2Gi")
      hugepages_size   = optional(string, "1Gi")
    }))
    generator = optional(object({
      cpu         = optional(string)
      memory      = optional(string)
      image       = optional(string)
      tolerations = optional(list(object({ key = optional(string), operator = optional(string), value = optional(string), effect = optional(string) })), [])
      xdp         = optional(object({ threads = optional(number), transmit_path = optional(string), scheduling = optional(string), ring_frames = optional(number), interrupt_microseconds = optional(number) }), {})
    }), {})
    device = optional(object({
      attachments    = optional(list(string))
      tolerations    = optional(list(object({ key = optional(string), operator = optional(string), value = optional(string), effect = optional(string) })), [])
      observer       = optional(string)
      function_image = optional(string)
      guest_image    = optional(string)
      realtime       = optional(string)
      mac_addresses  = optional(map(object({ west = optional(string), east = optional(string), management = optional(string) })), {})
    }), {})
  }))
  default = { lab = {} }
}

variable "addons" {
  description = "What is installed into the cluster; each part is described in the module `addons`. Absent: nothing, the cluster is left as Talos makes it. Example: { vnfbench = { registry = \"registry.example.com/lab\", tag = \"1.2.3\" } }."
  type = object({
    vnfbench = object({
      chart        = optional(string, "../../../charts/vnfbench")
      version      = optional(string)
      registry     = string
      repository   = optional(string, "vnfbench")
      tag          = optional(string, "")
      digests      = optional(map(string), {})
      pull_secrets = optional(list(string), [])
      values       = optional(list(string), [])
    })
    kubevirt = optional(object({
      operator_manifest = string
      use_emulation     = optional(bool, false)
      host_devices      = optional(map(string), {})
    }))
    multus = optional(object({
      manifest = string
    }))
    cni_plugins = optional(object({
      image   = string
      folder  = optional(string, "/opt/cni/bin")
      plugins = optional(list(string), ["bridge", "tuning", "host-device"])
    }))
    sriov = optional(object({
      chart           = string
      repository      = optional(string)
      resource_prefix = optional(string, "openshift.io")
      disable_drain   = optional(bool, false)
      policies = map(object({
        resource_name     = string
        node_selector     = map(string)
        pf_names          = optional(list(string), [])
        root_devices      = optional(list(string), [])
        virtual_functions = number
        mtu_bytes         = optional(number, 1500)
        device_type       = optional(string, "netdevice")
      }))
    }))
    monitoring = optional(object({
      chart      = string
      repository = optional(string)
    }))
  })
  default = null
}
