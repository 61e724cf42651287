// Package layout has no code: its tests hold the direction of imports that
// docs/architecture.md describes.
package layout
