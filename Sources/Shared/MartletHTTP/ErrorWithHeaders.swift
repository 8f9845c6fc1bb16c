public import HTTPTypes
public import MartletCore

/// An error whose answer needs its own header fields, such as `Allow` or `Content-Range`. Only endpoints throw it;
/// all layers below them throw `ServiceError`.
public struct ErrorWithHeaders: Error {
    public let error: ServiceError
    public let headers: HTTPFields

    public init(_ error: ServiceError, _ headers: HTTPFields) {
        self.error = error
        self.headers = headers
    }
}
