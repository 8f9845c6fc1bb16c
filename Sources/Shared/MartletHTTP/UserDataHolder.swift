import HTTPTypes
import Hummingbird
public import MartletAPI
import MartletCore
public import NIOCore

/// What a service holds of the end users of apps, for when one of them wants it erased or handed out.
///
/// Both work in slices: a call takes a few seconds at most and changes some hundred rows in a transaction at most. Live and test know
/// nothing of each other.
public protocol UserDataHolder: Sendable {
    /// Erases a slice of what there is of the user. Harmless to repeat.
    ///
    /// - Throws: `HTTPProblem`: `invalid-body` for what can be no app, user or place to go on.
    func erase(_ request: UserDataRequest) async throws -> UserErasure

    /// A slice of what there is of the user.
    ///
    /// - Throws: as `erase`.
    func export(_ request: UserDataRequest) async throws -> UserDataPortion
}

/// A slice of a user's data.
public struct UserDataPortion: Sendable {
    /// The most that a call hands out, in bytes: some mebibytes, or one object that is larger.
    public static let maximumSizeInBytes = 32 << 20

    /// JSON Lines, each `{"service","kind",…,"data"}`.
    public var lines: ByteBuffer
    /// Where the next call goes on; nil: this is all.
    public var next: String?

    public init(lines: ByteBuffer = ByteBuffer(), next: String? = nil) {
        self.lines = lines
        self.next = next
    }
}

/// For a service that holds nothing of any user.
public struct NoUserData: UserDataHolder {
    public init() {}

    public func erase(_ request: UserDataRequest) -> UserErasure { UserErasure() }

    public func export(_ request: UserDataRequest) -> UserDataPortion { UserDataPortion() }
}

/// `POST /internal/users/erase` with `UserDataRequest`: 200 with `UserErasure`. For our own processes only.
struct EraseUserData: Endpoint {
    let holder: any UserDataHolder

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try context.requireService()
        return try .encoding(try await holder.erase(try await request.decoded(UserDataRequest.self)))
    }
}

/// `POST /internal/users/export` with `UserDataRequest`: 200 with JSON Lines, and where it goes on in `X-Martlet-Next`. For our own
/// processes only.
struct ExportUserData: Endpoint {
    private static let next = HTTPField.Name(HeaderName.next)!

    let holder: any UserDataHolder

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try context.requireService()
        let portion = try await holder.export(try await request.decoded(UserDataRequest.self))
        var headers: HTTPFields = [.contentType: "application/jsonl", .cacheControl: "no-store"]
        headers[Self.next] = portion.next
        return Response(status: .ok, headers: headers, body: .whole(portion.lines))
    }
}

extension ServiceContext {
    fileprivate func requireService() throws {
        guard try principal.kind == .service else { throw HTTPProblem(.forbidden) }
    }
}
