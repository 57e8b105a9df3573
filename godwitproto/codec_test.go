package godwitproto_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/godwitproto"
)

func codecs() map[string]godwit.Codec {
	return map[string]godwit.Codec{"binary": godwitproto.Binary{}, "JSON": godwitproto.JSON{}}
}

// What is encoded is decoded, into a nil pointer, as of a godwit.Typed, into a message, and into a message that is
// there.
func TestCodecs(t *testing.T) {
	sent, err := structpb.NewStruct(map[string]any{"item": "a kite", "price": 12.5, "tags": []any{"red", nil}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range codecs() {
		t.Run(name, func(t *testing.T) {
			body, err := c.Encode(sent)
			if err != nil {
				t.Fatal(err)
			}
			var made *structpb.Struct
			there := &structpb.Struct{Fields: map[string]*structpb.Value{"old": structpb.NewNullValue()}}
			var into structpb.Struct
			for _, v := range []any{&made, &into, &there} {
				if err := c.Decode(body, v); err != nil {
					t.Fatalf("%T: %v", v, err)
				}
			}
			for _, got := range []proto.Message{made, &into, there} {
				if diff := cmp.Diff(sent, got, protocmp.Transform()); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// The content types are the registered ones.
func TestContentTypes(t *testing.T) {
	want := map[string]string{"binary": "application/protobuf", "JSON": "application/protobuf+json"}
	for name, c := range codecs() {
		if c.ContentType() != want[name] {
			t.Errorf("%s: %s", name, c.ContentType())
		}
	}
}

// An ordered channel recognizes duplicates by their bodies, and the order of a map is random.
func TestEqualMessagesHaveEqualBodies(t *testing.T) {
	fields := map[string]*structpb.Value{}
	for name := range strings.FieldsSeq("a b c d e f g h") {
		fields[name] = structpb.NewStringValue(name)
	}
	first, err := godwitproto.Binary{}.Encode(&structpb.Struct{Fields: fields})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		again, err := godwitproto.Binary{}.Encode(&structpb.Struct{Fields: fields})
		if err != nil {
			t.Fatal(err)
		}
		if string(again) != string(first) {
			t.Fatal("the same message has another body")
		}
	}
}

// A message whose fields have their defaults has an empty body. On Kafka a nil body would delete the key.
func TestAnEmptyMessageHasABody(t *testing.T) {
	body, err := godwitproto.Binary{}.Encode(&emptypb.Empty{})
	if err != nil || body == nil || len(body) != 0 {
		t.Errorf("%v, %v", body, err)
	}
	var got *emptypb.Empty
	if err := (godwitproto.Binary{}).Decode(nil, &got); err != nil || got == nil {
		t.Errorf("%v, %v", got, err)
	}
}

// Unknown fields are kept in the binary format, and ignored in JSON: the sender may know more than the reader.
func TestUnknownFields(t *testing.T) {
	known := &timestamppb.Timestamp{Seconds: 5, Nanos: 6}
	body, err := godwitproto.Binary{}.Encode(known)
	if err != nil {
		t.Fatal(err)
	}
	var empty *emptypb.Empty
	if err := (godwitproto.Binary{}).Decode(body, &empty); err != nil {
		t.Fatal(err)
	}
	again, err := godwitproto.Binary{}.Encode(empty)
	if err != nil || string(again) != string(body) {
		t.Errorf("%x became %x, %v", body, again, err)
	}
	if err := (godwitproto.JSON{}).Decode([]byte(`{"new":1}`), &empty); err != nil {
		t.Error(err)
	}
}

// An error says what is wrong with the value or the body.
func TestErrors(t *testing.T) {
	var message proto.Message
	var dynamic *dynamicpb.Message
	var text string
	var stamp *timestamppb.Timestamp
	for name, c := range codecs() {
		for _, one := range []struct {
			what string
			err  error
			want string
		}{
			{"a string", encode(c, "text"), "not string"},
			{"nil", encode(c, nil), "not <nil>"},
			{"a nil message", encode(c, stamp), "nil *timestamppb.Timestamp"},
			{"a string to decode into", c.Decode(nil, &text), "not *string"},
			{"no pointer", c.Decode(nil, text), "not string"},
			{"nil to decode into", c.Decode(nil, nil), "not <nil>"},
			{"an interface", c.Decode([]byte("{}"), &message), "cannot know which message a proto"},
			{"a dynamic message", c.Decode([]byte("{}"), &dynamic), "no definition of its own"},
			{"another body", c.Decode([]byte("\x08no"), &stamp), "proto"},
		} {
			if one.err == nil || !strings.Contains(one.err.Error(), one.want) {
				t.Errorf("%s, %s: %v; want %q", name, one.what, one.err, one.want)
			}
		}
	}
	if stamp != nil {
		t.Error("a body that cannot be decoded has left a message")
	}
}

func encode(c godwit.Codec, v any) error {
	_, err := c.Encode(v)
	return err
}
