variable "cluster_name" {
  description = "Name of the cluster. Example: \"nfv-lab\"."
  type        = string
}

variable "nodes" {
  description = "The machines by name; each field is described in the module `baremetal-nodes`, and schematic_id in `images`. Example: { cp-1 = { mac = \"0c:c4:7a:00:00:11\", role = \"controlplane\", address = \"192.0.2.11/24\", install_disk = \"/dev/sda\" } }."
  type = map(object({
    mac          = string
    role         = string
    address      = string
    install_disk = string
    kernel_args  = optional(list(string), [])
    labels       = optional(map(string), {})
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

variable "matchbox_endpoint" {
  description = "Matchbox' gRPC API, host and port. Example: \"matchbox.example:8081\"."
  type        = string

  validation {
    condition     = can(regex("^([^\\[\\]:/\\s]+|\\[[^\\[\\]/\\s]+\\]):[0-9A-Za-z-]+$", var.matchbox_endpoint))
    error_message = "matchbox_endpoint is a host and a port, without scheme, such as matchbox.example:8081."
  }
}

variable "matchbox_credentials" {
  description = <<-EOT
    Files of the client's certificate and key, and of the authority that signed Matchbox' own.
    Example: { client_cert = "~/.matchbox/client.crt", client_key = "~/.matchbox/client.key", ca = "~/.matchbox/ca.crt" }.
  EOT
  type = object({
    client_cert = string
    client_key  = string
    ca          = string
  })

  validation {
    condition     = can(file(pathexpand(var.matchbox_credentials.client_cert)))
    error_message = "client_cert of matchbox_credentials is no file that can be read: give the path of a PEM file, such as ~/.matchbox/client.crt."
  }
  validation {
    condition     = can(file(pathexpand(var.matchbox_credentials.client_key)))
    error_message = "client_key of matchbox_credentials is no file that can be read: give the path of a PEM file, such as ~/.matchbox/client.key."
  }
  validation {
    condition     = can(file(pathexpand(var.matchbox_credentials.ca)))
    error_message = "ca of matchbox_credentials is no file that can be read: give the path of a PEM file, such as ~/.matchbox/ca.crt."
  }
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
