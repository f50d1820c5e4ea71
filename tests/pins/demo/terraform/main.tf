resource "helm_release" "haptic" {
  name       = "haptic"
  repository = "https://charts.example.test"
  chart      = "haptic"
  version    = "1.69.0"
}
