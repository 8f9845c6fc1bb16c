public import Foundation
import HTTPTypes
public import Hummingbird
import MartletAPI
public import MartletCore
import Synchronization

/// Refuses requests that did not come through the gateway, and passes the principal of others to the endpoint.
public struct PrincipalMiddleware: RouterMiddleware {
    public typealias Context = ServiceContext

    private static let field = HTTPField.Name(HeaderName.principal)!
    private let verifier: PrincipalVerifier
    private let now: @Sendable () -> Date

    public init(signer: PrincipalSigner, now: @escaping @Sendable () -> Date = { Date() }) {
        self.verifier = PrincipalVerifier(signer: signer)
        self.now = now
    }

    public func handle(
        _ request: Request, context: ServiceContext,
        next: (Request, ServiceContext) async throws -> Response
    ) async throws -> Response {
        guard let header = request.headers[Self.field], let principal = verifier.principal(from: header, at: now())
        else { throw ServiceError(.unauthorized) }
        var context = context
        context.verifiedPrincipal = principal
        return try await next(request, context)
    }
}

/// Caches valid headers: a gateway sends the same one for some seconds, and a look-up costs a fraction of decoding and
/// HMAC.
final class PrincipalVerifier: Sendable {
    private static let maximumRemembered = 4_096

    private let signer: PrincipalSigner
    private let remembered = Mutex<[String: (principal: Principal, expires: Date)]>([:])

    init(signer: PrincipalSigner) {
        self.signer = signer
    }

    func principal(from header: String, at now: Date) -> Principal? {
        if let known = remembered.withLock({ $0[header] }), known.expires > now { return known.principal }
        guard let fresh = signer.principal(from: header, at: now) else { return nil }
        remembered.withLock { known in
            if known.count >= Self.maximumRemembered { known.removeAll(keepingCapacity: true) }
            known[header] = fresh
        }
        return fresh.principal
    }
}
