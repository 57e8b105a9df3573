package godwittest

// ClientIsVirtual is clientIsVirtual.
const ClientIsVirtual = clientIsVirtual
