package keda

import (
	"context"
	"net"
	"time"

	"google.golang.org/grpc"

	"github.com/godwitmq/godwit/cmd/godwit/internal/externalscaler"
)

// closeWithin is how long calls may take to end when the server is stopped. Streams do not end by themselves.
const closeWithin = time.Second

// Serve answers by gRPC until ctx ends. It closes the listener.
func Serve(ctx context.Context, l net.Listener, s *Scaler) error {
	server := grpc.NewServer()
	externalscaler.RegisterExternalScalerServer(server, s)
	release := context.AfterFunc(ctx, func() {
		hard := time.AfterFunc(closeWithin, server.Stop)
		defer hard.Stop()
		server.GracefulStop()
	})
	defer release()
	return server.Serve(l)
}
