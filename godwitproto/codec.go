package godwitproto

import (
	"fmt"
	"reflect"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// The content types of the codecs, as registered at IANA. Older programs write application/x-protobuf, which is a
// deprecated name of the first one; the codecs decode bodies of every content type.
const (
	contentTypeBinary = "application/protobuf"
	contentTypeJSON   = "application/protobuf+json"
)

// Binary encodes messages in the wire format of protocol buffers. Equal messages have equal bodies, as long as the
// program is the same, so that ordered channels recognize duplicates. Unknown fields are kept.
type Binary struct{}

// ContentType implements godwit.Codec.
func (Binary) ContentType() string { return contentTypeBinary }

// Encode implements godwit.Codec. The value must be a proto.Message.
func (Binary) Encode(v any) ([]byte, error) {
	m, err := message(v)
	if err != nil {
		return nil, err
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}

// Decode implements godwit.Codec. The value must be a proto.Message, or a pointer to one, which may be nil.
func (Binary) Decode(body []byte, v any) error {
	return decode(v, func(m proto.Message) error { return proto.Unmarshal(body, m) })
}

// JSON encodes messages in the JSON format of protocol buffers, for readers without their definition. The names of
// fields are in lowerCamelCase. It ignores unknown fields of received messages, so that senders may add fields first.
type JSON struct{}

// ContentType implements godwit.Codec.
func (JSON) ContentType() string { return contentTypeJSON }

// Encode implements godwit.Codec. The value must be a proto.Message.
func (JSON) Encode(v any) ([]byte, error) {
	m, err := message(v)
	if err != nil {
		return nil, err
	}
	return protojson.Marshal(m)
}

// Decode implements godwit.Codec. The value must be a proto.Message, or a pointer to one, which may be nil.
func (JSON) Decode(body []byte, v any) error {
	return decode(v, func(m proto.Message) error {
		return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(body, m)
	})
}

// message returns the message to encode.
func message(v any) (proto.Message, error) {
	m, ok := v.(proto.Message)
	switch {
	case !ok && v != nil && reflect.PointerTo(reflect.TypeOf(v)).Implements(messageType()):
		return nil, fmt.Errorf("godwitproto encodes pointers to messages, not %T: use the type *%T", v, v)
	case !ok:
		return nil, fmt.Errorf("godwitproto encodes messages of google.golang.org/protobuf, not %T: use the type that "+
			"protoc-gen-go has generated, or another codec", v)
	case isNil(m):
		return nil, fmt.Errorf("the message is a nil %T: send an empty message instead", v)
	}
	return m, nil
}

// decode decodes into v, which is a message or a pointer to one. A nil message is made.
func decode(v any, unmarshal func(proto.Message) error) error {
	if m, ok := v.(proto.Message); ok && !isNil(m) {
		return unmarshal(m)
	}
	to := reflect.ValueOf(v)
	if to.Kind() != reflect.Pointer || to.IsNil() || !to.Type().Elem().Implements(messageType()) {
		return fmt.Errorf("godwitproto decodes into messages of google.golang.org/protobuf, not %T: use a pointer to the "+
			"type that protoc-gen-go has generated", v)
	}
	to = to.Elem()
	if to.Kind() != reflect.Pointer {
		return fmt.Errorf("godwitproto cannot know which message a %v is: use the type that protoc-gen-go has generated",
			to.Type())
	}
	if !to.IsNil() {
		return unmarshal(to.Interface().(proto.Message))
	}
	fresh := reflect.New(to.Type().Elem())
	m := fresh.Interface().(proto.Message)
	if m.ProtoReflect().Descriptor() == nil { // as of a dynamicpb.Message
		return fmt.Errorf("godwitproto cannot make a %v, which has no definition of its own: use the type that "+
			"protoc-gen-go has generated", to.Type())
	}
	if err := unmarshal(m); err != nil {
		return err
	}
	to.Set(fresh)
	return nil
}

// isNil reports whether a message is a nil pointer, whose methods may panic.
func isNil(m proto.Message) bool {
	v := reflect.ValueOf(m)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

func messageType() reflect.Type { return reflect.TypeFor[proto.Message]() }
