// Package rest implements the wire of AWS's REST services, without knowledge of any service. It stands beside package
// wire, whose Call, Error and Around it shares, so that controls work alike.
//
// Its nouns: a [Service] is a name and its Actions. An [Action] has a [Route], an input and an output, which are plain
// structs. A [Call] is what an action knows about its request besides its input. A [Body] is a request's body that was
// not read yet: it is received into a [Blob], in memory or in a temporary file, while its checksums are verified. A
// [Stream] is the body of an answer. An [Error] is an error answer with details. A [Mux] is the http.Handler.
//
// A field of an input or output has the name of the member in AWS's model, and a tag that says where it is:
//
//	rest:"bucket" rest:"key"           in the path, or the bucket in Host
//	rest:"query,prefix"                a parameter of the URL
//	rest:"header,If-Match"             a header
//	rest:"metadata"                    every header that begins with x-amz-meta-, a map[string]string
//	rest:"payload,Tagging"             the body, an XML document with this root; the field is a pointer to a struct
//	rest:"text"                        the body as text, a string
//	rest:"body"                        the body of an answer, a *Stream
//	rest:"status"                      the status of an answer, an int; 0: 200
//	xml:"Contents" xml:"TagSet>Tag"    a part of an XML document; of an output: of the document that is its body
//	xml:"Grantee@CanonicalUser"        an element with an xsi:type
//	xml:",chardata"                    the text of the document of an output
//
// Fields are strings, booleans, integers, time.Time, structs, slices of these, and pointers to these if absence has a
// meaning. Decoding of XML is strict. An x-amz-… header that an action does not have is refused by its name.
package rest
