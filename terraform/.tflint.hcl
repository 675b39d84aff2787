# Rules that come with tflint itself; rules of providers would be downloads.
plugin "terraform" {
  enabled = true
  preset  = "all"
}
