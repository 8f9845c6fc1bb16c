import Foundation
import Glibc
import Testing

@testable import MartletFiles

@Suite struct LimitedProcessTests {
    private func end(_ script: String, _ change: (inout LimitedProcess) -> Void = { _ in }) async throws
        -> LimitedProcess.End
    {
        var process = LimitedProcess()
        process.time = .seconds(120)
        change(&process)
        return try await withFolder { try await process.run("sh", ["-c", script], in: $0).end }
    }

    @Test func `the causes of a process's death are distinguished`() async throws {
        #expect(try await end("exit 3") == .exited(3))
        #expect(try await end("kill -9 $$") == .killed(signal: SIGKILL))
        #expect(try await end("while :; do :; done") { $0.limits.cpuTimeInSeconds = 1 } == .killed(signal: SIGXCPU))
        #expect(try await end("sleep 30") { $0.time = .milliseconds(200) } == .outOfTime)
        #expect(
            try await end("exec head -c 100000 /dev/zero >x") { $0.limits.outputSizeInBytes = 8_192 }
                == .killed(signal: SIGXFSZ))
    }

    @Test func `a process reads the given file, and its output is limited`() async throws {
        var process = LimitedProcess()
        process.time = .seconds(120)
        process.keptOutputInBytes = 5
        let text = try await withFolder { folder in
            try "one two three".write(toFile: folder + "/words", atomically: false, encoding: .utf8)
            return try await process.run("cat", [], input: folder + "/words", in: folder).text
        }
        #expect(text == "one t")
    }
}
