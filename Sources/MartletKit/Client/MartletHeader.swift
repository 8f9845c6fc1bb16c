/// Names of the headers that Martlet defines and an app sends or reads.
///
/// They repeat some of `MartletAPI`, which is mostly about the services among themselves: if MartletKit depended on it,
/// every app would contain it.
enum MartletHeader {
    static let secret = "x-martlet-secret"
    static let environment = "x-martlet-environment"
    static let deviceID = "x-device-id"
    static let requestID = "x-request-id"
}
