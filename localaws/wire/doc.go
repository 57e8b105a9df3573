// Package wire implements the protocols of AWS, without knowledge of any service.
//
// Its nouns: a [Service] is a name and its Actions. An [Action] has an input and an output, which are plain structs. A
// [Call] is what an action knows about its request besides its input. An [Error] is an error answer. A [Mux] is the
// http.Handler of several services.
//
// There are three protocols. awsJson (1.0 and 1.1) names its action in X-Amz-Target. The query protocol is a form, in
// the body or in the URL, whose answer is XML, or JSON if the request asks for that. rpcv2Cbor names its action in the
// path and has the header Smithy-Protocol. A body may be compressed with gzip. All use the same structs:
//
//	json:"QueueUrl"                              the name in awsJson and rpcv2Cbor, and in query unless the next tag
//	                                             says otherwise
//	query:"Attribute,flat,key=Name,value=Value"  the name in query; flat: no member or entry between name and number;
//	                                             key=, value= and item= rename the parts of a map and a list;
//	                                             or=: another name that some clients write; json=: the name in an
//	                                             answer in JSON
//
// Fields are strings, integers, floats, booleans, []byte (base64), time.Time (seconds since 1970, or ISO 8601 in
// query), structs, slices and string-keyed maps of these, and pointers to scalars or structs if absence has a meaning.
// The members of an embedded struct are members of the struct around it.
// An answer omits nil pointers, slices and maps, and empty strings.
//
// Decoding is strict: a parameter without a field is an error that names it. As on AWS, awsJson accepts a number or a
// boolean for a string, and treats null as absent.
package wire
