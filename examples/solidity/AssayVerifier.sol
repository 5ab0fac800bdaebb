// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Owned} from "./Owned.sol";

/// A verdict of Assay about one address.
struct Verdict {
    /// SHA-256 of the receipt, which has the evidence.
    bytes32 receipt;
    /// keccak256 of the CAIP-2 id of the screened chain, for example keccak256("eip155:1").
    bytes32 chain;
    address subject;
    /// 1 safe, 2 warning, 3 danger. 0 unrated: the address was compared with the sanctions lists only, so only `sanctioned` counts.
    uint8 verdict;
    /// 0 to 100.
    uint16 score;
    bool sanctioned;
    /// Seconds since 1970.
    uint64 issuedAt;
    uint64 expiresAt;
    /// SHA-256 of the data version of the labels.
    bytes32 snapshot;
    /// SHA-256 of the risk policy.
    bytes32 policy;
}

/// @title Verifies that a verdict was signed by an installation of Assay, for this contract on this chain, and is still valid.
/// @notice `check` reverts for everything else. It does not judge the verdict: that is the work of the caller (GuardedVault.sol).
contract AssayVerifier is Owned {
    uint8 public constant SAFE = 1;
    uint8 public constant WARNING = 2;
    uint8 public constant DANGER = 3;

    /// The longest time for which a verdict may be valid: sanctions lists change, so an old verdict must not open a gate.
    uint64 public constant LIFE_MAX = 15 minutes;
    /// A block may be some seconds older than the transactions in it, and clocks differ.
    uint64 public constant AHEAD_MAX = 1 minutes;

    bytes32 private constant DOMAIN_TYPEHASH =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    bytes32 private constant VERDICT_TYPEHASH = keccak256(
        "Verdict(bytes32 receipt,bytes32 chain,address subject,uint8 verdict,uint16 score,bool sanctioned,uint64 issuedAt,uint64 expiresAt,bytes32 snapshot,bytes32 policy)"
    );
    /// Half of the order of secp256k1 (EIP-2). For each signature with a lower s there is a second one with a higher s.
    uint256 private constant S_MAX = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0;

    uint256 private immutable deployedChainId;
    bytes32 private immutable deployedDomain;

    /// The time at which a signer ends, in seconds since 1970; 0 for an address that is not a signer.
    mapping(address signer => uint64 endsAt) public signerEndsAt;

    event SignerSet(address indexed signer, uint64 endsAt);

    error ZeroSigner();
    error NotYetIssued(uint64 issuedAt);
    error Expired(uint64 expiresAt);
    error LivesTooLong(uint64 issuedAt, uint64 expiresAt);
    error MalformedSignature();
    error UnknownSigner(address signer);
    error SignerEnded(address signer, uint64 endsAt);

    constructor() {
        deployedChainId = block.chainid;
        deployedDomain = computeDomain();
    }

    /// @notice Adds a signer, changes its end, or removes it with 0. To rotate a key, add the new signer and shorten the old one.
    /// @param endsAt Seconds since 1970. Every signer has an end, so that a forgotten key does not remain valid.
    function setSigner(address signer, uint64 endsAt) external onlyOwner {
        // ecrecover returns zero for an invalid signature.
        if (signer == address(0)) revert ZeroSigner();
        signerEndsAt[signer] = endsAt;
        emit SignerSet(signer, endsAt);
    }

    /// @notice Reverts unless a present signer has signed this verdict for this contract on this chain, and it is valid now.
    /// @param signature 65 bytes: r, s, v.
    /// @return signer The address that has signed.
    function check(Verdict calldata verdict, bytes calldata signature) external view returns (address signer) {
        if (verdict.issuedAt > block.timestamp + AHEAD_MAX) revert NotYetIssued(verdict.issuedAt);
        if (block.timestamp >= verdict.expiresAt) revert Expired(verdict.expiresAt);
        if (verdict.expiresAt > uint256(verdict.issuedAt) + LIFE_MAX) {
            revert LivesTooLong(verdict.issuedAt, verdict.expiresAt);
        }
        signer = recover(digestOf(verdict), signature);
        uint64 endsAt = signerEndsAt[signer];
        if (signer == address(0) || endsAt == 0) revert UnknownSigner(signer);
        if (block.timestamp >= endsAt) revert SignerEnded(signer, endsAt);
    }

    /// @notice The hash that is signed (EIP-712).
    function digestOf(Verdict calldata verdict) public view returns (bytes32) {
        return keccak256(
            abi.encodePacked(hex"1901", domainSeparator(), keccak256(abi.encode(VERDICT_TYPEHASH, verdict)))
        );
    }

    /// @notice The EIP-712 domain: after a fork of the chain it differs, so a verdict for one branch is not valid on the other.
    function domainSeparator() public view returns (bytes32) {
        return block.chainid == deployedChainId ? deployedDomain : computeDomain();
    }

    function computeDomain() private view returns (bytes32) {
        return keccak256(
            abi.encode(DOMAIN_TYPEHASH, keccak256("Assay"), keccak256("1"), block.chainid, address(this))
        );
    }

    function recover(bytes32 digest, bytes calldata signature) private pure returns (address) {
        if (signature.length != 65) revert MalformedSignature();
        bytes32 r = bytes32(signature[0:32]);
        bytes32 s = bytes32(signature[32:64]);
        uint8 v = uint8(signature[64]);
        if (uint256(s) > S_MAX || (v != 27 && v != 28)) revert MalformedSignature();
        return ecrecover(digest, v, r, s);
    }
}
