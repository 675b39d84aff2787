variable "vnfbench" {
  description = <<-EOT
    This project's operator, by its chart.
    - `chart`: where the chart is: a path of `charts/vnfbench`, of a release's .tgz, or an oci:// address.
    - `version`: the chart's version, for an oci:// address. Absent: the newest there.
    - `registry`: where `make push REGISTRY=...` has put the images. Example: "registry.example.com/lab".
    - `repository`: the path below it.
    - `tag`: the tag that `make push` has printed.
    - `digests`: pin single images whatever the tag: manager, measurer, vnf, vnf-guest, endpoint, neighbor, neighbor-guest, results.
    - `pull_secrets`: names of Secrets in the namespace vnfbench-system and in those of runs.
    - `values`: further values of the chart, as YAML documents. They end up in the state: no secrets here.
  EOT
  type = object({
    chart        = string
    version      = optional(string)
    registry     = string
    repository   = optional(string, "vnfbench")
    tag          = optional(string, "")
    digests      = optional(map(string), {})
    pull_secrets = optional(list(string), [])
    values       = optional(list(string), [])
  })
  nullable = false

  validation {
    condition     = can(regex("^[a-z0-9.-]+(:[0-9]+)?(/[a-z0-9._/-]+)?$", var.vnfbench.registry))
    error_message = "vnfbench.registry is a host with an optional port and path, without scheme, such as registry.example.com/lab."
  }
  validation {
    condition     = startswith(var.vnfbench.chart, "oci://") || fileexists(endswith(var.vnfbench.chart, ".tgz") ? var.vnfbench.chart : "${var.vnfbench.chart}/Chart.yaml")
    error_message = "vnfbench.chart is a folder with Chart.yaml, a .tgz or an oci:// address."
  }
  validation {
    condition     = can(regex("^[A-Za-z0-9_.-]{0,128}$", var.vnfbench.tag))
    error_message = "vnfbench.tag has at most 128 letters, digits, '_', '.' and '-'."
  }
  validation {
    condition = alltrue([for name, digest in var.vnfbench.digests :
      contains(["manager", "measurer", "vnf", "vnf-guest", "endpoint", "neighbor", "neighbor-guest", "results"], name) && can(regex("^sha256:[0-9a-f]{64}$", digest))
    ])
    error_message = "vnfbench.digests names manager, measurer, vnf, vnf-guest, endpoint, neighbor, neighbor-guest or results, each with sha256: and 64 hexadecimal digits."
  }
  validation {
    condition     = var.vnfbench.tag != "" || alltrue([for name in ["manager", "measurer", "vnf", "vnf-guest", "endpoint", "neighbor", "neighbor-guest"] : contains(keys(var.vnfbench.digests), name)])
    error_message = "vnfbench needs a tag, as `make push` prints it, or a digest of every image: which images are meant would be a guess."
  }
  validation {
    condition     = alltrue([for document in var.vnfbench.values : can(keys(yamldecode(document)))])
    error_message = "Each of vnfbench.values is a YAML document with values of the chart."
  }
}

variable "kubevirt" {
  description = <<-EOT
    KubeVirt, for functions in virtual machines. Absent: none.
    - `operator_manifest`: path of kubevirt-operator.yaml of the release that `versions.md` names;
      KubeVirt publishes its operator as a manifest only.
    - `host_devices`: whole NICs and other PCI devices that virtual machines may have, by the resource's name,
      with vendor and device id. Example: { "intel.com/x710" = "8086:1572" }. On the node the device's
      driver is vfio-pci.
    - `use_emulation`: guests without /dev/kvm, to try the way. Figures then say nothing of a hypervisor.

    Example: { operator_manifest = "kubevirt-operator.yaml" }.
  EOT
  type = object({
    operator_manifest = string
    use_emulation     = optional(bool, false)
    host_devices      = optional(map(string), {})
  })
  default = null

  validation {
    condition = var.kubevirt == null ? true : alltrue([for name, id in var.kubevirt.host_devices :
      can(regex("^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$", name)) && can(regex("^[0-9a-fA-F]{4}:[0-9a-fA-F]{4}$", id))
    ])
    error_message = "kubevirt.host_devices are vendor and device by the resource's prefix and name, such as { \"intel.com/x710\" = \"8086:1572\" }."
  }

  validation {
    condition     = var.kubevirt == null ? true : fileexists(var.kubevirt.operator_manifest)
    error_message = "kubevirt.operator_manifest is no file: download kubevirt-operator.yaml of the release in terraform/versions.md."
  }
  validation {
    condition     = var.kubevirt == null ? true : try(strcontains(file(var.kubevirt.operator_manifest), "virt-operator:${local.versions.kubevirt}"), true)
    error_message = "kubevirt.operator_manifest does not run virt-operator:${local.versions.kubevirt}: take the release in terraform/versions.md, for which this project reads back what a machine became."
  }
}

variable "multus" {
  description = <<-EOT
    Multus, which gives pods their traffic ports. Absent: the cluster has it already.
    - `manifest`: path of multus-daemonset-thick.yml of the release that `versions.md` names;
      Multus publishes a manifest only. The module pins its image and sets Talos' folder of
      network namespaces.

    Example: { manifest = "multus-daemonset-thick.yml" }.
  EOT
  type = object({
    manifest = string
  })
  default = null

  validation {
    condition     = var.multus == null ? true : fileexists(var.multus.manifest)
    error_message = "multus.manifest is no file: download deployments/multus-daemonset-thick.yml of the release in terraform/versions.md."
  }
  validation {
    condition     = var.multus == null ? true : try(strcontains(file(var.multus.manifest), "multus-daemon"), true)
    error_message = "multus.manifest is not the thick plugin's: take multus-daemonset-thick.yml."
  }
  validation {
    condition = var.multus == null ? true : try(alltrue([
      for image in regexall("image: *\"?[^\\s\"]+", file(var.multus.manifest)) :
      endswith(image, "multus-cni:snapshot-thick") || endswith(image, "multus-cni:${local.versions.multus}-thick") || can(regex("@sha256:[0-9a-f]{64}$", image))
    ]), true)
    error_message = "multus.manifest names another image than multus-cni:${local.versions.multus}-thick, snapshot-thick (which the module replaces) or one by its digest."
  }
}

variable "cni_plugins" {
  description = <<-EOT
    Reference CNI plugins that the nodes lack. Talos has bridge, and neither tuning nor
    host-device. Absent: the nodes have them already.
    - `image`: an image with a shell, `cp`, and the plugins, by tag or digest. Example:
      "registry.example.com/lab/cni-plugins:v1.9.1".
    - `folder`: where they are in the image.
    - `plugins`: which of them are put into the nodes' /opt/cni/bin.
  EOT
  type = object({
    image   = string
    folder  = optional(string, "/opt/cni/bin")
    plugins = optional(list(string), ["bridge", "tuning", "host-device"])
  })
  default = null

  validation {
    condition     = var.cni_plugins == null ? true : can(regex("^[a-z0-9.-]+(:[0-9]+)?/[a-z0-9._/-]+(:[A-Za-z0-9_.-]+)?(@sha256:[0-9a-f]{64})?$", var.cni_plugins.image)) && can(regex("(@sha256:|/[^/]*:)[^/]+$", var.cni_plugins.image)) && !endswith(var.cni_plugins.image, ":latest")
    error_message = "cni_plugins.image is a host, a path, and a tag other than latest or a digest."
  }
  validation {
    condition     = var.cni_plugins == null ? true : can(regex("^/[A-Za-z0-9._/-]+$", var.cni_plugins.folder))
    error_message = "cni_plugins.folder is an absolute path such as /opt/cni/bin."
  }
  validation {
    condition     = var.cni_plugins == null ? true : length(var.cni_plugins.plugins) > 0 && alltrue([for plugin in var.cni_plugins.plugins : can(regex("^[a-z0-9-]+$", plugin))])
    error_message = "cni_plugins.plugins lists at least one plugin by its file's name, such as tuning."
  }
}

variable "sriov" {
  description = <<-EOT
    The SR-IOV network operator and its policies. Absent: none.
    - `chart`: the operator's chart: a name in `repository`, an oci:// address, or a path.
    - `repository`: URL of the chart's repository, where `chart` is a name.
    - `resource_prefix`: the prefix of the pools' names in a Testbed.
    - `disable_drain`: for a cluster whose only node cannot be emptied.
    - `policies`: pools of virtual functions by the policies' names. `pf_names` or
      `root_devices` (PCI addresses) choose the NICs on the nodes that `node_selector` matches;
      `resource_name` is the pool's, `virtual_functions` the number on each NIC, `mtu_bytes`
      the NIC's, `device_type` netdevice (pods) or vfio-pci (guests on Intel NICs).

    Example: { chart = "oci://registry.example.com/charts/sriov-network-operator-chart", policies = { gen-west = {
    resource_name = "gen_west", node_selector = { "vnfbench.io/role" = "generator" }, pf_names = ["ens1f0"],
    virtual_functions = 1 } } }.
  EOT
  type = object({
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
  })
  default = null

  validation {
    condition     = var.sriov == null ? true : can(regex("^oci://|^[./]", var.sriov.chart)) != (var.sriov.repository != null)
    error_message = "sriov.chart is a name together with sriov.repository, or an oci:// address or a path without."
  }
  validation {
    condition     = var.sriov == null ? true : alltrue([for name, p in var.sriov.policies : can(regex("^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$", name))])
    error_message = "A name of sriov.policies has at most 40 lower case letters, digits and '-'."
  }
  validation {
    condition     = var.sriov == null ? true : alltrue([for p in values(var.sriov.policies) : can(regex("^[A-Za-z0-9_]+$", p.resource_name))])
    error_message = "resource_name of sriov.policies has letters, digits and '_' only: the SR-IOV network operator refuses '-'."
  }
  validation {
    condition     = var.sriov == null ? true : alltrue([for p in values(var.sriov.policies) : length(p.node_selector) > 0])
    error_message = "node_selector of sriov.policies is empty: the policy would hold for every node."
  }
  validation {
    condition     = var.sriov == null ? true : alltrue([for p in values(var.sriov.policies) : length(p.pf_names) + length(p.root_devices) > 0])
    error_message = "Each of sriov.policies needs pf_names or root_devices: without them it would take every NIC, the cluster's own among them."
  }
  validation {
    condition     = var.sriov == null ? true : alltrue([for p in values(var.sriov.policies) : alltrue([for device in p.root_devices : can(regex("^[0-9a-f]{4}:[0-9a-f]{2}:[01][0-9a-f]\\.[0-7]$", device))])])
    error_message = "root_devices of sriov.policies are PCI addresses such as 0000:03:00.0."
  }
  validation {
    condition     = var.sriov == null ? true : alltrue([for p in values(var.sriov.policies) : p.virtual_functions >= 1 && p.virtual_functions <= 256 && p.virtual_functions == floor(p.virtual_functions)])
    error_message = "virtual_functions of sriov.policies is a whole number from 1 to 256."
  }
  validation {
    condition     = var.sriov == null ? true : alltrue([for p in values(var.sriov.policies) : p.mtu_bytes >= 1280 && p.mtu_bytes <= 9216])
    error_message = "mtu_bytes of sriov.policies is from 1280 to 9216."
  }
  validation {
    condition     = var.sriov == null ? true : alltrue([for p in values(var.sriov.policies) : contains(["netdevice", "vfio-pci"], p.device_type)])
    error_message = "device_type of sriov.policies is netdevice or vfio-pci."
  }
}

variable "monitoring" {
  description = <<-EOT
    The kube-prometheus stack, with this project's monitor, alerts and dashboard. Absent: none.
    It costs every node some CPU time: on nodes that measure, look at the warnings.
    - `chart`: its chart: a name in `repository`, an oci:// address, or a path.
    - `repository`: URL of the chart's repository, where `chart` is a name.

    Example: { chart = "kube-prometheus-stack", repository = "https://charts.example.com" }.
  EOT
  type = object({
    chart      = string
    repository = optional(string)
  })
  default = null

  validation {
    condition     = var.monitoring == null ? true : can(regex("^oci://|^[./]", var.monitoring.chart)) != (var.monitoring.repository != null)
    error_message = "monitoring.chart is a name together with monitoring.repository, or an oci:// address or a path without."
  }
}
