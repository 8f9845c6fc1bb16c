import Foundation
import MartletCore
import Testing

@Suite struct FreePortTests {
    @Test func `Ports are distinct, outside the ephemeral range, and none of the excluded ones`()
        throws
    {
        let ports = try FreePort.find(20)
        #expect(Set(ports).count == 20)
        #expect(ports.allSatisfy { (10_240...65_535).contains($0) })
        let range = try String(contentsOfFile: "/proc/sys/net/ipv4/ip_local_port_range", encoding: .utf8).split(
            whereSeparator: \.isWhitespace)
        let lowest = try #require(Int(range[0]))
        if lowest == 32_768 { #expect(ports.allSatisfy { $0 < lowest }) }
        #expect(try FreePort.find(0).isEmpty)
        #expect(throws: (any Error).self) { try FreePort.find(1, excluding: Set(1...65_535)) }
    }
}
