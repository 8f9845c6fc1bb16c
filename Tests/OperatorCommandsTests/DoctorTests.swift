import Foundation
import Testing

@testable import OperatorCommands

@Suite struct DoctorTests {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)

    @Test(arguments: [
        (3_456_000.0, "ok    the TLS certificate expires on 2027-02-24, in 40 days"),
        (1_209_600.0, "ok    the TLS certificate expires on 2027-01-29, in 14 days"),
        (1_209_599.0, "note  the TLS certificate expires on 2027-01-29, in 13 days"),
        (60.0, "note  the TLS certificate expires on 2027-01-15, in 0 days"),
        (0.0, "WRONG the TLS certificate expired on 2027-01-15"),
    ])
    func `A certificate that expires within 14 days is noted, and an expired one is a problem`(
        _ left: Double, _ expected: String
    ) throws {
        let metrics = """
            # HELP martlet_gateway_certificate_expires_seconds When the TLS certificate in use expires.
            # TYPE martlet_gateway_certificate_expires_seconds gauge
            martlet_gateway_certificate_expires_seconds \(1_800_000_000 + left)
            martlet_gateway_connections 3.0

            """
        let finding = try #require(DoctorCommand.certificateFinding(metrics: metrics, now: Self.now))
        #expect((finding.isGood ? finding.mark : "WRONG ") + finding.name == expected)
    }

    @Test(arguments: ["", "martlet_gateway_certificate_expires_seconds x\n", "martlet_gateway_connections 3.0\n"])
    func `Without a certificate there is nothing to say about it`(_ metrics: String) {
        #expect(DoctorCommand.certificateFinding(metrics: metrics, now: Self.now) == nil)
    }
}
