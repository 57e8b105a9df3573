// Package externalscaler is the gRPC interface by which KEDA asks an external scaler, generated from
// externalscaler.proto with protoc, protoc-gen-go and protoc-gen-go-grpc:
//
//	protoc --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative \
//		externalscaler.proto
package externalscaler
