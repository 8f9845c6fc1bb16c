/// Names of the headers that Martlet defines and an app sends or reads.
///
/// They repeat names of `MartletAPI`. MartletKit does not depend on that module, because most of it is for calls
/// between the services, and every app would contain it.
enum MartletHeader {
    static let secret = "x-martlet-secret"
    static let environment = "x-martlet-environment"
    static let deviceID = "x-device-id"
    static let requestID = "x-request-id"
}
