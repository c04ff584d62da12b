//! `tensormap.replace`, `tensormap.cp_fenceproxy`.

use super::{Decoder, Result};
use crate::program::{Action, Address, MapChange, MapField, Scope};
use warpsmith_ptx::{Instruction, Type, Word};

impl Decoder<'_> {
    pub(super) fn tensor_map(&mut self, i: &Instruction) -> Result<()> {
        use Word::*;
        let address =
            |place: super::operands::Place| Address { plane: place.plane, wide: place.wide, offset: place.offset };
        if i.has(CpFenceproxy) {
            let to = self.address(i, self.operand(i, 0)?)?;
            let from = self.address(i, self.operand(i, 1)?)?;
            if self.number(i, 2)? != 128 {
                return Err(self.malformed(i, "its size is not 128"));
            }
            let scope = self.scope(i).unwrap_or(Scope::Gpu);
            self.emit(Action::CopyMap { to: address(to), from: address(from), scope });
            return Ok(());
        }
        let of_modes = [BoxDim, GlobalDim, GlobalStride, ElementStride].into_iter().any(|word| i.has(word));
        let mode = if of_modes { self.number(i, 1)? } else { 0 };
        if mode > 4 {
            return Err(self.malformed(i, format!("there is no mode {mode}")));
        }
        let mode = mode as u8;
        let fields = [
            (GlobalAddress, MapField::Base),
            (Rank, MapField::Rank),
            (BoxDim, MapField::Box(mode)),
            (GlobalDim, MapField::Extent(mode)),
            (GlobalStride, MapField::Stride(mode)),
            (ElementStride, MapField::ElementStride(mode)),
            (Elemtype, MapField::Type),
            (InterleaveLayout, MapField::Interleave),
            (SwizzleMode, MapField::Swizzle),
            (FillMode, MapField::Fill),
        ];
        let field = fields.into_iter().find(|(word, _)| i.has(*word)).map(|(_, field)| field);
        let field = field.ok_or_else(|| self.malformed(i, "no field"))?;
        let wide = matches!(field, MapField::Base | MapField::Stride(_));
        let place = self.address(i, self.operand(i, 0)?)?;
        let ty = if wide { Type::B64 } else { Type::B32 };
        let value = self.read(i, self.operand(i, if of_modes { 2 } else { 1 })?, ty)?;
        let space = self.space(i);
        self.emit(Action::ChangeMap(MapChange { field, space, address: address(place), value, wide }));
        Ok(())
    }
}
