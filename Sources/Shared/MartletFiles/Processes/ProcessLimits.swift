/// What a program may use before the kernel ends it, by `prlimit`.
public struct ProcessLimits: Sendable {
    public var cpuTimeInSeconds = 10
    /// Of everything it maps, files included.
    public var addressSpaceInBytes = 1 << 30
    /// Of what it allocates; nil: as much as the address space allows.
    public var dataInBytes: Int?
    /// Of each file it writes.
    public var outputSizeInBytes = 16 << 20

    public init() {}

    /// What comes before the program's own path.
    var command: [String] {
        [
            "/usr/bin/prlimit", "--cpu=\(cpuTimeInSeconds):\(cpuTimeInSeconds + 1)", "--as=\(addressSpaceInBytes)",
            "--fsize=\(outputSizeInBytes)", "--nofile=64", "--core=0",
        ] + (dataInBytes.map { ["--data=\($0)"] } ?? []) + ["--"]
    }
}
