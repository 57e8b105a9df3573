// Package godwitproto sends and receives protocol buffers.
//
// Its nouns: [Binary] is a codec for the wire format of protocol buffers, and [JSON] is one for their JSON format. Both
// are values without state, for godwit.NewSender, godwit.Handle, godwit.Decode and godwit.HandleBatch. The type of the
// messages is that of the generated pointer:
//
//	orders := godwit.NewSender[*orderpb.Order](producer, godwitproto.Binary{})
//	handler := godwit.Handle(godwitproto.Binary{}, func(ctx context.Context, d godwit.Typed[*orderpb.Order]) error {
//		return reserve(ctx, d.Value.GetItem())
//	})
//
// [Index] is the position of a message in its file, which the wire format of schema registries needs; see package
// schemaregistry.
//
// The package is apart from package godwit, so that only its users build google.golang.org/protobuf.
package godwitproto
