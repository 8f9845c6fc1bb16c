import Logging
import MartletAPI
import MartletCore
import NIOCore

extension Exchange {
    /// Logs one line per request. It contains the route's pattern instead of the path, because a path may contain keys.
    func log(to logger: Logger, _ duration: TimeAmount) {
        guard logger.logLevel <= .info else { return }
        var metadata: Logger.Metadata = [
            "request.id": .string(requestID.text),
            "request.method": .string("\(method.name)"),
            "request.route": .string(route?.pattern ?? "-"),
            "response.status": .stringConvertible(status),
            "duration.us": .stringConvertible(duration.nanoseconds / 1000),
            "bytes.in": .stringConvertible(bytesIn),
            "bytes.out": .stringConvertible(bytesOut),
        ]
        // As in `RequestLines`.
        if let grant {
            if !grant.principal.appID.isEmpty { metadata["app.id"] = .string(grant.principal.appID) }
            if let credential = grant.limitedCredential { metadata["credential.id"] = .string(credential) }
        }
        if let backend { metadata["upstream.address"] = .string(backend.name) }
        logger.info("A request was answered.", metadata: metadata)
    }
}
