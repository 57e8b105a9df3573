package godwitproto

import (
	"errors"
	"reflect"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Index returns the position of a message's type in the file that defines it: the index of the type or, if it is inside
// of other types, the indexes of these and then its own. The message may be nil, of a generated type.
func Index(m proto.Message) ([]int, error) {
	if m != nil && isNil(m) {
		m, _ = reflect.TypeAssert[proto.Message](reflect.New(reflect.TypeOf(m).Elem()))
	}
	if m == nil || m.ProtoReflect().Descriptor() == nil {
		return nil, errors.New("godwitproto.Index needs a message of a generated type, for example (*orderpb.Order)(nil)")
	}
	var index []int
	for d := protoreflect.Descriptor(m.ProtoReflect().Descriptor()); ; d = d.Parent() {
		if _, ok := d.(protoreflect.MessageDescriptor); !ok {
			slices.Reverse(index)
			return index, nil
		}
		index = append(index, d.Index())
	}
}
