package main

// What the archive's URL may name besides a folder. No other program of the project has these drivers.
import (
	_ "gocloud.dev/blob/azureblob"
	_ "gocloud.dev/blob/gcsblob"
	_ "gocloud.dev/blob/s3blob"
	// Its image has no certificates of authorities.
	_ "golang.org/x/crypto/x509roots/fallback"
)
