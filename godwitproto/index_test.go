package godwitproto_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/godwitmq/godwit/godwitproto"
)

// descriptor.proto defines FileDescriptorSet, FileDescriptorProto, DescriptorProto with ExtensionRange and
// ReservedRange in it, and others.
func TestIndex(t *testing.T) {
	for _, c := range []struct {
		message proto.Message
		want    []int
	}{
		{(*timestamppb.Timestamp)(nil), []int{0}},
		{&descriptorpb.DescriptorProto{}, []int{2}},
		{(*descriptorpb.DescriptorProto_ReservedRange)(nil), []int{2, 1}},
	} {
		got, err := godwitproto.Index(c.message)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%T: %s", c.message, diff)
		}
	}
	for _, m := range []proto.Message{nil, (*dynamicpb.Message)(nil)} {
		if got, err := godwitproto.Index(m); err == nil {
			t.Errorf("%T: %v", m, got)
		}
	}
}
