// Package wire speaks the protocols of AWS, knowing no service.
//
// Nouns: a Service is a name and its Actions; an Action has an input and an
// output, plain structs; a Call is what an action knows of its request besides
// its input; an Error is how AWS says no; a Mux is the http.Handler over
// several services.
//
// Two protocols are spoken. awsJson (1.0 and 1.1) names its action in
// X-Amz-Target. The query protocol is a form, in the body or in the URL, whose
// answer is XML. Both read and write the same structs:
//
//	json:"QueueUrl"                              the name in awsJson, and in query unless the next tag says otherwise
//	query:"Attribute,flat,key=Name,value=Value"  the name in query; flat: no member or entry between name and number;
//	                                             key=, value= and item= rename the parts of a map and a list;
//	                                             or=: another name that some client writes
//
// Fields are strings, integers, booleans, []byte (base64), structs, slices and
// string-keyed maps of these, and pointers to scalars or structs where absence
// means something. In an answer a nil pointer, slice or map and an empty string are left
// out; everything else is written.
//
// Decoding is strict: what the input has no field for is an error that names
// it. As on AWS, a number or a boolean is taken where awsJson wants a text, and
// null is as good as absent.
package wire
