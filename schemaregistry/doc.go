// Package schemaregistry sends and receives bodies in the wire format of Confluent's schema registry, which most
// programs that use Kafka with Avro, JSON Schema or protocol buffers share. It works on every backend.
//
// Its nouns: a [Codec] is a godwit.Codec that puts the id of a registered [Schema] in front of each body, and finds the
// schema of each received body by its id. A [Serde] is what encodes and decodes the payload behind the id: [Payload]
// makes one of a codec that needs no schema, and for Avro it is two functions around a library of Avro. The client of
// the registry is the one of github.com/twmb/franz-go/pkg/sr, which has its own options for addresses and credentials.
//
//	client, err := sr.NewClient(sr.URLs("https://registry.example.com"), sr.BasicAuth(user, password))
//	codec, err := schemaregistry.New(client, schemaregistry.Payload(godwit.JSON), &schemaregistry.Options{
//		Subject: schemaregistry.TopicName("orders"),
//	})
//	orders := godwit.NewSender[Order](producer, codec)
//	handler := godwit.Handle(codec, func(ctx context.Context, d godwit.Typed[Order]) error { … })
//
// The registry decides about good messages, so its failures are told apart:
//
//   - It does not answer, or refuses the client: received messages are held until it answers (godwit.HoldFor), without
//     attempts, and the consumer's log and Health report it. Sends return the error.
//   - It does not know the id of a message. Registries of several instances read their schemas with a delay, so the
//     message is retried by the consumer's policy, 10 s later, and is a dead letter when no attempts are left.
//   - The body is not in the wire format, or its payload does not fit: the message is rejected.
//
// The package is apart from package godwit, so that only its users build the client.
package schemaregistry
