# Computed from its arguments; nothing is asked over the network.
data "talos_image_factory_urls" "this" {
  talos_version = var.talos_version
  schematic_id  = var.talos_schematic
  platform      = "metal"
}

# Machines boot into Talos' maintenance mode and wait there for the module
# `cluster` to send their configuration. Matchbox never holds it: it answers
# anyone who asks, and the configuration has the cluster's secrets in it.
resource "matchbox_profile" "node" {
  for_each = var.nodes

  name   = "${var.cluster_name}-${each.key}"
  kernel = data.talos_image_factory_urls.this.urls.kernel
  initrd = [data.talos_image_factory_urls.this.urls.initramfs]
  args = concat(
    [
      "initrd=initramfs.xz",
      "talos.platform=metal",
      "slab_nomerge",
      "pti=on",
      "console=tty0",
      "init_on_alloc=1",
      "printk.devkmsg=on",
    ],
    each.value.kernel_args,
  )
}

resource "matchbox_group" "node" {
  for_each = var.nodes

  name    = "${var.cluster_name}-${each.key}"
  profile = matchbox_profile.node[each.key].name
  selector = {
    mac = each.value.mac
  }
}
