import Foundation
import MartletFiles
import Testing

@Suite struct LineProcessTests {
    /// Lends a shell that runs `script`.
    private func run(
        _ script: String, limits: ProcessLimits = ProcessLimits(), _ body: (LineProcess) async throws -> Void
    ) async throws {
        try await withFolder { folder in
            let process = try LineProcess("/bin/sh", ["-c", script], limits: limits, in: folder)
            defer { process.end() }
            try await body(process)
        }
    }

    @Test func `every line is answered by a line while the process lives`() async throws {
        try await run("while read -r line; do echo \"<$line>\"; done") { process in
            for lines in [["a", "b c"], ["d"]] {
                let answers = try await process.exchange(lines, within: .seconds(120))
                #expect(answers == lines.map { "<\($0)>" })
            }
            let many = (0..<20_000).map { "line \($0) of very many that do not fit into a pipe at once" }
            #expect(try await process.exchange(many, within: .seconds(120)) == many.map { "<\($0)>" })
        }
    }

    static let failures: [(String, LineProcess.Failure)] = [
        ("exit 0", .ended), ("read -r line; echo half of the answer; exit 1", .ended), ("sleep 60", .outOfTime),
        ("while :; do :; done", .outOfTime), ("yes", .outOfStep), ("cat /dev/zero", .tooMuch),
    ]

    @Test(arguments: failures)
    func `a process that ends, hangs, or answers something else is detected`(
        _ script: String, _ failure: LineProcess.Failure
    )
        async throws
    {
        try await run(script) { process in
            // A slow machine takes long to start a process.
            let limit = Duration.seconds(failure == .outOfTime ? 1 : 120)
            await #expect(throws: failure) {
                try await process.exchange(["a", "b"], within: limit, upTo: 64 << 10)
            }
            await #expect(throws: LineProcess.Failure.self) { try await process.exchange(["c"], within: .seconds(1)) }
        }
    }

    @Test func `exceeding a limit ends the process`() async throws {
        var limits = ProcessLimits()
        limits.cpuTimeInSeconds = 1
        try await run("while :; do :; done", limits: limits) { process in
            await #expect(throws: LineProcess.Failure.ended) {
                try await process.exchange(["a"], within: .seconds(120))
            }
        }
    }

    @Test func `the child process gets no environment and no open files of its parent`() async throws {
        try await run(
            "read -r line; env | cut -d= -f1 | sort | tr '\\n' ' '; echo; read -r line; ls /proc/self/fd | tr '\\n' ' '; echo"
        ) { process in
            let names = try await process.exchange(["a"], within: .seconds(120)).first?.split(separator: " ") ?? []
            #expect(Set(names).subtracting(["LC_ALL", "PATH", "PWD", "_", "SHLVL", "OLDPWD"]) == [])
            // 3 is the directory that `ls` reads.
            #expect(try await process.exchange(["b"], within: .seconds(120)) == ["0 1 2 3 "])
        }
    }

    @Test func `cancelling the wait ends the process`() async throws {
        try await run("sleep 60") { process in
            let task = Task { try await process.exchange(["a"], within: .seconds(120)) }
            try await Task.sleep(for: .milliseconds(50))
            task.cancel()
            await #expect(throws: (any Error).self) { try await task.value }
        }
    }
}
