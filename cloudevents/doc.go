// Package cloudevents sends and receives CloudEvents 1.0, the format of events that many programs and clouds share.
//
// Its nouns: an [Event] has attributes and data. A [Sender] sends events through a godwit.Producer, and [Handle] makes
// a handler of a function of events. A [Mode] says how an event lies in a message:
//
//	                     structured                          binary
//	body                 the event in CloudEvents' JSON      the data of the event
//	content type         application/cloudevents+json        that of the data
//	headers              none                                ce_id, ce_source, ce_type and so on
//	other programs read  on every backend                    on Kafka; on SQS and SNS where headers are attributes
//
// On Kafka both modes are those of CloudEvents' Kafka protocol binding, so that every SDK of CloudEvents reads and
// writes them. For SQS and SNS no binding exists. There, the structured mode is the JSON format as a body; the binary
// mode is a convention of Godwit, with the names of the Kafka binding as message attributes, and ce_datacontenttype for
// the content type, since messages of SQS have none. docs/codecs.md describes it for other programs.
//
//	events, err := cloudevents.NewSender(producer, nil)
//	e := cloudevents.Event{ID: id, Source: "https://shop.example.com/carts", Type: "com.example.cart.paid"}
//	err = e.SetData(godwit.JSON, cart)
//	err = events.Send(ctx, e, godwit.Message{})
//
//	handler := cloudevents.Handle(func(ctx context.Context, d godwit.Typed[cloudevents.Event]) error {
//		var c Cart
//		if err := d.Value.DataAs(godwit.JSON, &c); err != nil {
//			return godwit.Permanent(err)
//		}
//		return ship(ctx, c)
//	})
//
// The attribute partitionkey is the order key of a message that has none. On ordered channels of SQS and SNS, an event
// with the source and id of another one is a duplicate, for five minutes.
//
// An event that is not valid is not sent, and is rejected when it is received; the error is an [AttributeError] with
// the name of the attribute. Batches of events in one message, and formats other than JSON, are not supported.
package cloudevents
